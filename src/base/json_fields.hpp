// Structs as JSON text and back. A struct names its members in a static member function:
//
//   static void VisitFields(auto& self, auto&& visit) {
//     visit("uid", self.uid);
//     visit("since", self.since);
//   }
//
// Members are strings, SharedText, booleans, integers, floating-point numbers, MonoTime, WallTime, such
// structs, and std::vector, std::optional and std::pair of all these. Empty and zero members are left out, so
// they must be empty, null or zero by default; floating-point numbers are always written. Reading gives an
// equal value. Unknown members are ignored.
#pragma once

#include <boost/json/fwd.hpp>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/json_text.hpp"
#include "base/result.hpp"
#include "base/shared_text.hpp"

namespace berth {

// The implementation: one function per kind of member.
namespace json_fields {

template <class T>
inline constexpr bool kIsTime = std::same_as<T, MonoTime> || std::same_as<T, WallTime>;

// --- writing ---

// Large numbers and fractions are strings, because readers of JSON round them.
void AppendInteger(std::string& out, std::int64_t number);
void AppendUnsigned(std::string& out, std::uint64_t number);
void AppendFloat(std::string& out, double number);

// All are declared before the first one calls another.
template <class T>
void Append(std::string& out, const T& value);
template <class T>
void Append(std::string& out, const std::optional<T>& value);
template <class A, class B>
void Append(std::string& out, const std::pair<A, B>& pair);

template <class T>
void Append(std::string& out, const std::vector<T>& list) {
  AppendJsonList(out, list, [](std::string& text, const T& item) { Append(text, item); });
}
template <class T>
void Append(std::string& out, const std::optional<T>& value) {
  Append(out, *value);
}
template <class A, class B>
void Append(std::string& out, const std::pair<A, B>& pair) {
  out += '[';
  Append(out, pair.first);
  out += ',';
  Append(out, pair.second);
  out += ']';
}

template <class T>
bool IsLeftOut(const T& value) {
  if constexpr (std::integral<T>) {
    return value == T{};
  } else if constexpr (kIsTime<T>) {
    return value == T{};
  } else if constexpr (std::same_as<T, SharedText>) {
    return value == nullptr;
  } else if constexpr (requires { value.has_value(); }) {
    return !value.has_value();
  } else if constexpr (requires { value.empty(); }) {
    return value.empty();
  } else {
    return false;
  }
}

// Writes the members of a struct.
struct Writer {
  JsonObject& object;
  template <class T>
  void operator()(std::string_view key, const T& value) const {
    if (!IsLeftOut(value)) Append(object.Key(key), value);
  }
};

template <class T>
void Append(std::string& out, const T& value) {
  if constexpr (std::same_as<T, std::string>) {
    AppendJsonString(out, value);
  } else if constexpr (std::same_as<T, SharedText>) {
    AppendJsonString(out, *value);
  } else if constexpr (std::same_as<T, bool>) {
    out += value ? "true" : "false";
  } else if constexpr (std::unsigned_integral<T>) {
    AppendUnsigned(out, value);
  } else if constexpr (std::integral<T>) {
    AppendInteger(out, value);
  } else if constexpr (std::floating_point<T>) {
    AppendFloat(out, static_cast<double>(value));
  } else if constexpr (kIsTime<T>) {
    AppendInteger(out, value.time_since_epoch().count());
  } else {
    JsonObject object(out);
    T::VisitFields(value, Writer{object});
  }
}

// --- reading ---

// Errors say which form was expected.
Error Expect(std::string_view form);
Expected<std::int64_t> ReadInteger(const boost::json::value& from);
Expected<std::uint64_t> ReadUnsigned(const boost::json::value& from);
Expected<double> ReadFloat(const boost::json::value& from);
Expected<std::string> ReadText(const boost::json::value& from);
Expected<bool> ReadBool(const boost::json::value& from);
// Nanoseconds of a time; sums of two do not overflow.
Expected<std::int64_t> ReadTime(const boost::json::value& from);
Expected<const boost::json::object*> ReadObject(const boost::json::value& from);
// Both items of an array of two.
using ValuePair = std::pair<const boost::json::value*, const boost::json::value*>;
Expected<ValuePair> ReadPair(const boost::json::value& from);
// Calls `read` for the items of an array, up to the first error.
Expected<void> ReadItems(const boost::json::value& from,
                         const std::function<Expected<void>(const boost::json::value&)>& read);
// Null: there is no such member.
const boost::json::value* FindMember(const boost::json::object& object, std::string_view key);
Expected<std::shared_ptr<const boost::json::value>> Parse(std::string_view json);

// One function for each form of member, as for writing.
template <class T>
Expected<void> Read(const boost::json::value& from, T& out);
template <class T>
Expected<void> Read(const boost::json::value& from, std::optional<T>& out);
template <class A, class B>
Expected<void> Read(const boost::json::value& from, std::pair<A, B>& out);

template <class T>
Expected<void> Read(const boost::json::value& from, std::vector<T>& out) {
  return ReadItems(from, [&](const boost::json::value& item) { return Read(item, out.emplace_back()); });
}
template <class T>
Expected<void> Read(const boost::json::value& from, std::optional<T>& out) {
  return Read(from, out.emplace());
}
template <class A, class B>
Expected<void> Read(const boost::json::value& from, std::pair<A, B>& out) {
  BERTH_TRY(const ValuePair both, ReadPair(from));
  BERTH_RETURN_IF_ERROR(Read(*both.first, out.first));
  return Read(*both.second, out.second);
}

// Reads the members of a struct.
struct Reader {
  const boost::json::object& object;
  Expected<void> result = {};  // the first error

  template <class T>
  void operator()(std::string_view key, T& out) {
    const boost::json::value* found = FindMember(object, key);
    if (found == nullptr || !result) return;
    if (auto read = Read(*found, out); !read) result = std::unexpected(std::move(read).error().In(key));
  }
};

template <class T, class Value>
Expected<void> Store(Expected<Value> value, T& out) {
  if (!value) return std::unexpected(std::move(value).error());
  if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    if (!std::in_range<T>(*value)) return std::unexpected(Expect("an integer in its range"));
  }
  out = static_cast<T>(*std::move(value));
  return {};
}

template <class T>
Expected<void> Read(const boost::json::value& from, T& out) {
  if constexpr (std::same_as<T, std::string>) {
    return Store(ReadText(from), out);
  } else if constexpr (std::same_as<T, SharedText>) {
    BERTH_TRY(std::string text, ReadText(from));
    out = ShareText(std::move(text));
    return {};
  } else if constexpr (std::same_as<T, bool>) {
    return Store(ReadBool(from), out);
  } else if constexpr (std::unsigned_integral<T>) {
    return Store(ReadUnsigned(from), out);
  } else if constexpr (std::integral<T>) {
    return Store(ReadInteger(from), out);
  } else if constexpr (std::floating_point<T>) {
    return Store(ReadFloat(from), out);
  } else if constexpr (kIsTime<T>) {
    BERTH_TRY(const std::int64_t count, ReadTime(from));
    out = T(Duration(count));
    return {};
  } else {
    BERTH_TRY(const boost::json::object* object, ReadObject(from));
    Reader reader{*object};
    T::VisitFields(out, reader);
    return std::move(reader.result);
  }
}

}  // namespace json_fields

// Members in the order of VisitFields, so equal values have equal texts.
template <class T>
std::string WriteJsonFields(const T& value) {
  std::string out;
  json_fields::Append(out, value);
  return out;
}

// Errors name the member.
template <class T>
Expected<T> ReadJsonFields(std::string_view json) {
  BERTH_TRY(const auto parsed, json_fields::Parse(json));
  T value;
  BERTH_RETURN_IF_ERROR(json_fields::Read(*parsed, value));
  return value;
}

}  // namespace berth
