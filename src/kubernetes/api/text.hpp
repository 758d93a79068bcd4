// Strings that many objects share: a pod's namespace, phase, node.
#pragma once

#include <fmt/core.h>

#include <compare>
#include <concepts>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/seeded_hash.hpp"
#include "kubernetes/api/cow_ptr.hpp"

namespace berth::api {

// A copy-on-write string in eight bytes. It reads like a std::string and cannot be modified, only replaced.
// Copies share it (see CowPtr); the empty one costs nothing. Values that differ between objects, such as
// names, should be std::string: an unshared Text takes more memory.
class Text {
 public:
  Text() = default;
  Text(std::string text) {  // this and the following constructors are implicit
    if (!text.empty()) text_ = std::move(text);
  }
  Text(std::string_view text) : Text(std::string(text)) {}
  Text(const char* text) : Text(std::string(text)) {}

  const std::string& str() const {
    static const std::string kNone;
    return text_ ? *text_ : kNone;
  }
  operator const std::string&() const { return str(); }
  operator std::string_view() const { return str(); }
  const char* c_str() const { return str().c_str(); }
  bool empty() const { return !text_; }
  std::size_t size() const { return str().size(); }
  // See CowPtr.
  const void* identity() const { return text_.identity(); }
  bool unshared() const { return text_.unshared(); }

  friend bool operator==(const Text& a, const Text& b) {
    return a.identity() == b.identity() || a.str() == b.str();
  }
  friend std::strong_ordering operator<=>(const Text& a, const Text& b) { return a.str() <=> b.str(); }
  template <class Other>
    requires(!std::same_as<Other, Text> && std::convertible_to<const Other&, std::string_view>)
  friend bool operator==(const Text& a, const Other& b) {
    return std::string_view(a.str()) == std::string_view(b);
  }

 private:
  CowPtr<std::string> text_;
};

inline std::string operator+(const Text& a, std::string_view b) { return std::string(a.str()).append(b); }
inline std::string operator+(std::string a, const Text& b) { return a.append(b.str()); }
// found by Boost's containers
inline std::size_t hash_value(const Text& text) { return SeededHash()(text.str()); }

}  // namespace berth::api

template <>
struct fmt::formatter<berth::api::Text> : fmt::formatter<std::string_view> {
  auto format(const berth::api::Text& text, auto& context) const {
    return fmt::formatter<std::string_view>::format(text.str(), context);
  }
};
template <>
struct std::hash<berth::api::Text> {
  std::size_t operator()(const berth::api::Text& text) const { return hash_value(text); }
};
