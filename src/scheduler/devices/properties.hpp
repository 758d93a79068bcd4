// Attributes and capacities of devices.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "kubernetes/api/devices.hpp"

namespace berth::devices {

// The attribute or capacity with this fully qualified name ("domain/id"). Names without a domain belong to
// the driver's. Null if there is none.
template <class T>
const T* FindQualified(const std::map<std::string, T, std::less<>>& entries, std::string_view driver,
                       std::string_view name) {
  if (const auto found = entries.find(name); found != entries.end()) return &found->second;
  const std::size_t slash = name.find('/');
  if (slash == name.npos || name.substr(0, slash) != driver) return nullptr;
  const auto found = entries.find(name.substr(slash + 1));
  return found == entries.end() ? nullptr : &found->second;
}

// The value for explanations: 7, true, "a100", 1.2.3.
std::string ValueText(const api::DeviceAttribute& attribute);

}  // namespace berth::devices
