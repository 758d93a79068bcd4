#include "config/value.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace berth::config {

Value::Value() = default;
Value::Value(const Value&) = default;
Value::Value(Value&&) noexcept = default;
Value& Value::operator=(const Value&) = default;
Value& Value::operator=(Value&&) noexcept = default;
Value::~Value() = default;

namespace {

Value Scalar(Value::Kind kind, std::string text) {
  Value value;
  value.kind = kind;
  value.text = std::move(text);
  return value;
}

}  // namespace

Value Value::Bool(bool value) { return Scalar(Kind::kBool, value ? "true" : "false"); }
Value Value::Number(std::int64_t value) { return Scalar(Kind::kNumber, std::to_string(value)); }
Value Value::Float(double value) {
  return Scalar(Kind::kNumber, fmt::format("{}", static_cast<float>(value)));
}
Value Value::Text(std::string value) { return Scalar(Kind::kString, std::move(value)); }
Value Value::List() { return Scalar(Kind::kList, ""); }
Value Value::Map() { return Scalar(Kind::kMap, ""); }

const Value* Value::Find(std::string_view key) const {
  const auto found =
      std::ranges::find(members, key, [](const auto& member) { return std::string_view(member.first); });
  return found == members.end() ? nullptr : &found->second;
}

Value* Value::Find(std::string_view key) { return const_cast<Value*>(std::as_const(*this).Find(key)); }

Value& Value::Set(std::string_view key, Value value) {
  if (Value* member = Find(key)) return *member = std::move(value);
  return members.emplace_back(std::string(key), std::move(value)).second;
}

void Value::Remove(std::string_view key) {
  std::erase_if(members, [&](const auto& member) { return member.first == key; });
}

bool operator==(const Value& a, const Value& b) {
  if (a.kind != b.kind || a.text != b.text || a.items != b.items || a.members.size() != b.members.size())
    return false;
  return std::ranges::all_of(a.members, [&](const auto& member) {
    const Value* other = b.Find(member.first);
    return other != nullptr && *other == member.second;
  });
}

}  // namespace berth::config
