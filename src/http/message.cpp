#include "http/message.hpp"

#include <algorithm>

namespace berth::http {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool SameName(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return Lower(x) == Lower(y); });
}

}  // namespace

std::string_view Headers::Find(std::string_view name) const {
  for (const auto& [key, value] : entries_) {
    if (SameName(key, name)) return value;
  }
  return {};
}

std::vector<std::string_view> Headers::All(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : entries_) {
    if (SameName(key, name)) values.push_back(value);
  }
  return values;
}

}  // namespace berth::http
