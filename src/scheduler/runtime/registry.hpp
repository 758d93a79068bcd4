// The registry of available plugins.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "config/args_codec.hpp"
#include "scheduler/framework/factory.hpp"

namespace berth::runtime {

// Maps plugin names to factories, codecs for arguments, and log notes. A later Add replaces an earlier one.
class Registry {
 public:
  void Add(std::string name, framework::Factory factory) {
    factories_.insert_or_assign(std::move(name), std::move(factory));
  }
  // For plugins with arguments that the configuration completes, validates and writes out.
  void Add(std::string name, framework::Factory factory, config::ArgsCodec codec) {
    SetCodec(name, std::move(codec));
    Add(std::move(name), std::move(factory));
  }
  // Adds a plugin that is not built into Berth; all of its calls are timed. `annotations`: the keys that it
  // reads. Replaces a plugin of the same name, including its codec and note.
  void AddForeign(std::string name, framework::Factory factory,
                  const std::vector<std::string>& annotations = {}) {
    annotations_.insert(annotations.begin(), annotations.end());
    codecs_.erase(name);
    notes_.erase(name);
    foreign_.insert(name);
    Add(std::move(name), std::move(factory));
  }
  void SetCodec(std::string name, config::ArgsCodec codec) {
    codecs_.insert_or_assign(std::move(name), std::move(codec));
  }
  // Sets a text that is logged when a profile enables the plugin.
  void SetNote(std::string name, std::string note) {
    notes_.insert_or_assign(std::move(name), std::move(note));
  }

  // Null if there is no such plugin.
  const framework::Factory* Find(std::string_view name) const {
    const auto found = factories_.find(name);
    return found == factories_.end() ? nullptr : &found->second;
  }
  bool IsForeign(std::string_view name) const { return foreign_.contains(name); }
  const config::ArgsCodecs& codecs() const { return codecs_; }
  const std::map<std::string, std::string, std::less<>>& notes() const { return notes_; }
  // The annotations that foreign plugins read; decoders must retain them.
  const std::set<std::string>& annotations() const { return annotations_; }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& [name, factory] : factories_) names.push_back(name);
    return names;
  }

 private:
  std::map<std::string, framework::Factory, std::less<>> factories_;
  std::set<std::string, std::less<>> foreign_;
  std::set<std::string> annotations_;
  config::ArgsCodecs codecs_;
  std::map<std::string, std::string, std::less<>> notes_;
};

}  // namespace berth::runtime
