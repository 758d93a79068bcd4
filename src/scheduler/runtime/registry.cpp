#include "scheduler/runtime/registry.hpp"

#include <utility>

namespace berth::runtime {

Registry::Registry() = default;
Registry::Registry(const Registry&) = default;
Registry& Registry::operator=(const Registry&) = default;
Registry::~Registry() = default;

void Registry::Add(std::string name, framework::Factory factory) {
  factories_.insert_or_assign(std::move(name), std::move(factory));
}

void Registry::Add(std::string name, framework::Factory factory, config::ArgsCodec codec) {
  SetCodec(name, std::move(codec));
  Add(std::move(name), std::move(factory));
}

void Registry::AddForeign(std::string name, framework::Factory factory,
                          const std::vector<std::string>& annotations) {
  annotations_.insert(annotations.begin(), annotations.end());
  codecs_.erase(name);
  notes_.erase(name);
  foreign_.insert(name);
  Add(std::move(name), std::move(factory));
}

void Registry::SetCodec(std::string name, config::ArgsCodec codec) {
  codecs_.insert_or_assign(std::move(name), std::move(codec));
}

void Registry::SetNote(std::string name, std::string note) {
  notes_.insert_or_assign(std::move(name), std::move(note));
}

const framework::Factory* Registry::Find(std::string_view name) const {
  const auto found = factories_.find(name);
  return found == factories_.end() ? nullptr : &found->second;
}

std::vector<std::string> Registry::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, factory] : factories_) names.push_back(name);
  return names;
}

}  // namespace berth::runtime
