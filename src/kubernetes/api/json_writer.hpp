// Writes typed fields as JSON, the counterpart of json_reader.hpp; private to this module.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/json_text.hpp"
#include "kubernetes/api/objects.hpp"

namespace berth::api::json {

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}
  std::string& out() { return out_; }

 private:
  std::string& out_;
};

// --- one writer per type ---
inline void Write(Writer& to, const std::string& value) { AppendJsonString(to.out(), value); }
inline void Write(Writer& to, const Text& value) { AppendJsonString(to.out(), value.str()); }
inline void Write(Writer& to, bool value) { to.out() += value ? "true" : "false"; }
inline void Write(Writer& to, std::int64_t value) { to.out() += std::to_string(value); }
inline void Write(Writer& to, std::int32_t value) { Write(to, std::int64_t{value}); }
inline void Write(Writer& to, const Quantity& value) { AppendJsonString(to.out(), value.Canonical()); }
void Write(Writer& to, const Labels& value);
void Write(Writer& to, const ResourceList& value);
void Write(Writer& to, const ObjectMeta& value);
void Write(Writer& to, const LabelSelector& value);
void Write(Writer& to, const NodeSelectorTerm& value);
void Write(Writer& to, const NodeSelector& value);
void Write(Writer& to, const Taint& value);
void Write(Writer& to, const PodResourceClaim& value);
void Write(Writer& to, const PodResourceClaimStatus& value);

template <class List>
void WriteList(Writer& to, const List& list) {
  AppendJsonList(to.out(), list, [&](std::string&, const auto& item) { Write(to, item); });
}
template <class T>
void Write(Writer& to, const std::vector<T>& value) {
  WriteList(to, value);
}
template <class T>
void Write(Writer& to, const CowList<T>& value) {
  WriteList(to, value);
}
template <class T>
void Write(Writer& to, const std::optional<T>& value) {
  Write(to, *value);
}
template <class T>
void Write(Writer& to, const CowPtr<T>& value) {
  Write(to, *value);
}

// Whether decoders give the same value if the field is absent. An optional value counts if it is present.
template <class T>
bool IsDefault(const T& value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return value == T();
  } else if constexpr (requires { value.has_value(); }) {
    return !value.has_value();
  } else if constexpr (requires { value.empty(); }) {
    return value.empty();
  } else {
    return false;
  }
}

// A member that is left out if its value is the default. A value is written by its writer, or it is a
// callable with (Writer&) that writes an object, which is left out if it has no members.
template <class T>
struct Member {
  std::string_view name;
  const T& value;
};
// The same, always written.
template <class T>
struct Required {
  std::string_view name;
  const T& value;
};

// The members of one object, in this order.
class Members {
 public:
  explicit Members(Writer& to) : to_(to) { to.out() += '{'; }
  ~Members() { to_.out() += '}'; }
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;

  template <class T>
  Members& Add(const Required<T>& member) {
    Begin(member.name);
    WriteValue(member.value);
    return *this;
  }
  template <class T>
  Members& Add(const Member<T>& member) {
    if (IsDefault(member.value)) return *this;
    const std::size_t size = to_.out().size();
    Begin(member.name);
    WriteValue(member.value);
    // An object without members, unless it is an optional value, whose presence counts.
    if constexpr (!requires { member.value.has_value(); }) {
      if (to_.out().ends_with(":{}")) Undo(size);
    }
    return *this;
  }

 private:
  void Begin(std::string_view name) {
    if (to_.out().back() != '{') to_.out() += ',';
    AppendJsonString(to_.out(), name);
    to_.out() += ':';
  }
  template <class T>
  void WriteValue(const T& value) {
    if constexpr (std::is_invocable_v<const T&, Writer&>) {
      value(to_);
    } else {
      Write(to_, value);
    }
  }
  void Undo(std::size_t size) { to_.out().resize(size); }

  Writer& to_;
};

template <class... Fields>
void WriteFields(Writer& to, const Fields&... fields) {
  Members members(to);
  (members.Add(fields), ...);
}

// A map of named values.
template <class Map>
void WriteMap(Writer& to, const Map& map) {
  Members members(to);
  for (const auto& [key, value] : map) members.Add(Required{key, value});
}

}  // namespace berth::api::json
