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
  Registry();
  Registry(const Registry&);
  Registry& operator=(const Registry&);
  ~Registry();

  void Add(std::string name, framework::Factory factory);
  // For plugins with arguments that the configuration completes, validates and writes out.
  void Add(std::string name, framework::Factory factory, config::ArgsCodec codec);
  // Adds a plugin that is not built into Berth; all of its calls are timed. `annotations`: the keys that it
  // reads. Replaces a plugin of the same name, including its codec and note.
  void AddForeign(std::string name, framework::Factory factory,
                  const std::vector<std::string>& annotations = {});
  void SetCodec(std::string name, config::ArgsCodec codec);
  // Sets a text that is logged when a profile enables the plugin.
  void SetNote(std::string name, std::string note);

  // Null if there is no such plugin.
  const framework::Factory* Find(std::string_view name) const;
  bool IsForeign(std::string_view name) const { return foreign_.contains(name); }
  bool HasForeign() const { return !foreign_.empty(); }
  const config::ArgsCodecs& codecs() const { return codecs_; }
  const std::map<std::string, std::string, std::less<>>& notes() const { return notes_; }
  // The annotations that foreign plugins read; decoders must retain them.
  const std::set<std::string>& annotations() const { return annotations_; }
  std::vector<std::string> Names() const;

 private:
  std::map<std::string, framework::Factory, std::less<>> factories_;
  std::set<std::string, std::less<>> foreign_;
  std::set<std::string> annotations_;
  config::ArgsCodecs codecs_;
  std::map<std::string, std::string, std::less<>> notes_;
};

}  // namespace berth::runtime
