#include "http/message.hpp"

#include <algorithm>

#include "base/ascii.hpp"

namespace berth::http {
std::string_view Headers::Find(std::string_view name) const {
  for (const auto& [key, value] : entries_) {
    if (EqualsIgnoringAsciiCase(key, name)) return value;
  }
  return {};
}

std::vector<std::string_view> Headers::All(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : entries_) {
    if (EqualsIgnoringAsciiCase(key, name)) values.push_back(value);
  }
  return values;
}

}  // namespace berth::http
