// Which plugins exist.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "framework/factory.hpp"

namespace berth::runtime {

class Registry {
 public:
  void Add(std::string name, framework::Factory factory) {
    factories_.insert_or_assign(std::move(name), std::move(factory));
  }
  // A plugin that is not Berth's own: every call of it is timed.
  void AddForeign(std::string name, framework::Factory factory) {
    foreign_.insert(name);
    Add(std::move(name), std::move(factory));
  }

  // Null if there is no such plugin.
  const framework::Factory* Find(std::string_view name) const {
    const auto found = factories_.find(name);
    return found == factories_.end() ? nullptr : &found->second;
  }
  bool IsForeign(std::string_view name) const { return foreign_.contains(name); }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& [name, factory] : factories_) names.push_back(name);
    return names;
  }

 private:
  std::map<std::string, framework::Factory, std::less<>> factories_;
  std::set<std::string, std::less<>> foreign_;
};

}  // namespace berth::runtime
