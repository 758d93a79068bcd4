#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/nearest.hpp"
#include "config/value.hpp"

namespace berth::config {
namespace {

std::string_view KindName(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::kNull:
      return "null";
    case Value::Kind::kBool:
      return "bool";
    case Value::Kind::kNumber:
      return "number";
    case Value::Kind::kString:
      return "string";
    case Value::Kind::kList:
      return "array";
    case Value::Kind::kMap:
      return "object";
  }
  return "value";
}

// The path as in Go's type errors: "profiles[0].plugins" becomes "profiles.plugins".
std::string WithoutIndices(std::string_view path) {
  std::string out;
  bool inside = false;
  for (const char c : path) {
    if (c == '[') inside = true;
    if (!inside) out += c;
    if (c == ']') inside = false;
  }
  return out;
}

bool SameIgnoringCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace

void Problems::UnknownField(const std::string& path, const std::string& nearest, std::uint32_t order) {
  unknown_.push_back({order, fmt::format("unknown field \"{}\"", path),
                      nearest.empty() ? "" : fmt::format("did you mean \"{}\"?", nearest)});
}

void Problems::WrongType(std::string_view got, std::string_view type_name, std::string_view field,
                         std::string_view go_type, std::uint32_t order) {
  Other(fmt::format("json: cannot unmarshal {} into Go struct field {}.{} of type {}", got, type_name, field,
                    go_type),
        order);
}

void Problems::Other(std::string text, std::uint32_t order) {
  if (!fatal_.empty() && fatal_order_ <= order) return;
  fatal_ = std::move(text);
  fatal_order_ = order;
}

void Problems::Strict(std::string text, std::vector<std::string> hints) {
  strict_.push_back(std::move(text));
  strict_hints_.insert(strict_hints_.end(), hints.begin(), hints.end());
}

std::vector<Problems::Unknown> Problems::SortedUnknown() const {
  auto sorted = unknown_;
  std::ranges::stable_sort(sorted, {}, &Unknown::order);
  return sorted;
}

std::vector<std::string> Problems::StrictTexts() const {
  std::vector<std::string> texts;
  for (const Unknown& unknown : SortedUnknown()) texts.push_back(unknown.text);
  texts.insert(texts.end(), strict_.begin(), strict_.end());
  return texts;
}

std::vector<std::string> Problems::Hints() const {
  std::vector<std::string> hints;
  for (const Unknown& unknown : SortedUnknown()) {
    if (!unknown.hint.empty()) hints.push_back(unknown.hint);
  }
  hints.insert(hints.end(), strict_hints_.begin(), strict_hints_.end());
  return hints;
}

std::string Problems::Text() const {
  if (!fatal_.empty()) return fatal_;
  if (empty()) return "";
  std::string text = fmt::format("strict decoding error: {}", fmt::join(StrictTexts(), ", "));
  if (const auto hints = Hints(); !hints.empty()) text += fmt::format("; {}", fmt::join(hints, " "));
  return text;
}

StructReader::StructReader(const Value& value, std::string type_name, std::string path, Problems& problems)
    : value_(value), type_name_(std::move(type_name)), path_(std::move(path)), problems_(problems) {
  if (value.kind != Value::Kind::kMap && value.kind != Value::Kind::kNull) {
    problems_.Other(fmt::format("json: cannot unmarshal {} into Go value of type {}{}", KindName(value.kind),
                                type_name_, path_.empty() ? "" : fmt::format(" (at {})", path_)),
                    value.order);
  }
}

const Value* StructReader::FindMember(std::string_view name) const {
  if (!ignore_case_) return value_.Find(name);
  const Value* found = nullptr;  // of several spellings the last one is used, as in Go
  for (const auto& [key, member] : value_.members) {
    if (SameIgnoringCase(key, name)) found = &member;
  }
  return found;
}

bool StructReader::Has(std::string_view name) const {
  if (problems_.describing()) return true;
  const Value* member = FindMember(name);
  return member != nullptr && member->kind != Value::Kind::kNull;
}

std::string StructReader::PathOf(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

const Value* StructReader::Take(std::string_view name) { return Know(name, ""); }

const Value* StructReader::Know(std::string_view name, std::string_view go_type) {
  known_.emplace_back(name);
  if (problems_.describing()) problems_.describing()(PathOf(name), go_type);
  return Has(name) ? FindMember(name) : nullptr;
}

void StructReader::Wrong(const Value& member, std::string_view name, std::string_view got,
                         std::string_view go_type) {
  problems_.WrongType(got, type_name_, WithoutIndices(PathOf(name)), go_type, member.order);
}

const Value* StructReader::Expect(std::string_view name, Value::Kind kind, std::string_view go_type) {
  const Value* member = Know(name, go_type);
  if (member == nullptr) return nullptr;
  if (member->kind == kind) return member;
  Wrong(*member, name, KindName(member->kind), go_type);
  return nullptr;
}

void StructReader::Read(std::string_view name, std::string& out, std::string_view go_type) {
  if (const Value* member = Expect(name, Value::Kind::kString, go_type)) out = member->text;
}

void StructReader::Read(std::string_view name, bool& out) {
  if (const Value* member = Expect(name, Value::Kind::kBool, "bool")) out = member->text == "true";
}

void StructReader::Read(std::string_view name, std::int64_t& out, std::string_view go_type) {
  const Value* member = Expect(name, Value::Kind::kNumber, go_type);
  if (member == nullptr) return;
  std::int64_t value = 0;
  const char* end = member->text.data() + member->text.size();
  const auto [rest, error] = std::from_chars(member->text.data(), end, value);
  const bool too_wide = go_type == "int32" && (value < INT32_MIN || value > INT32_MAX);
  if (error != std::errc{} || rest != end || too_wide)
    return Wrong(*member, name, "number " + member->text, go_type);
  out = value;
}

void StructReader::Read(std::string_view name, double& out, std::string_view go_type) {
  const Value* member = Expect(name, Value::Kind::kNumber, go_type);
  if (member == nullptr) return;
  const char* text = member->text.c_str();
  const double value = std::strtod(text, nullptr);
  if (std::isinf(value) || (go_type == "float32" && std::isinf(std::strtof(text, nullptr))))
    return Wrong(*member, name, "number " + member->text, go_type);
  out = value;
}

void StructReader::Read(std::string_view name, std::vector<std::string>& out) {
  const Value* member = Expect(name, Value::Kind::kList, "[]string");
  if (member == nullptr) return;
  out.clear();
  for (const Value& item : member->items) {
    if (item.kind != Value::Kind::kString && item.kind != Value::Kind::kNull)
      return Wrong(item, name, KindName(item.kind), "string");
    out.push_back(item.text);
  }
}

void StructReader::Each(std::string_view name, const Visit& each, std::string_view element_type) {
  const std::string list_type = element_type.empty() ? "list" : fmt::format("[]{}", element_type);
  const Value* member = Expect(name, Value::Kind::kList, list_type);
  if (problems_.describing()) return each(Value::Null(), PathOf(name) + "[]");
  if (member == nullptr) return;
  for (std::size_t i = 0; i < member->items.size(); ++i) {
    const Value& item = member->items[i];
    if (!element_type.empty() && item.kind != Value::Kind::kMap && item.kind != Value::Kind::kNull) {
      Wrong(item, name, KindName(item.kind), element_type);
      continue;
    }
    each(item, fmt::format("{}[{}]", PathOf(name), i));
  }
}

void StructReader::With(std::string_view name, const Visit& with, std::string_view go_type) {
  const Value* member = Expect(name, Value::Kind::kMap, go_type);
  if (problems_.describing()) return with(Value::Null(), PathOf(name));
  if (member != nullptr) with(*member, PathOf(name));
}

bool StructReader::Known(std::string_view name) const {
  return std::ranges::any_of(known_, [&](const std::string& known) {
    return ignore_case_ ? SameIgnoringCase(known, name) : known == name;
  });
}

void StructReader::Finish() {
  for (const auto& [name, member] : value_.members) {
    if (!Known(name)) problems_.UnknownField(PathOf(name), Nearest(name, known_), member.order);
  }
}

std::vector<std::string> StructReader::Rest() const {
  std::vector<std::string> rest;
  for (const auto& [name, member] : value_.members) {
    if (!Known(name)) rest.push_back(PathOf(name));
  }
  return rest;
}

}  // namespace berth::config
