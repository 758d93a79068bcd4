#include "config/value.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/nearest.hpp"

namespace berth::config {
namespace {

constexpr int kDepthMax = 100;

Expected<Value> FromYaml(const YAML::Node& node, int depth);

bool IsNumber(const std::string& text) {
  if (text.empty() ||
      (text[0] != '-' && text[0] != '+' && text[0] != '.' && (text[0] < '0' || text[0] > '9')))
    return false;
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return end == text.c_str() + text.size() && text.find_first_of("xXnN") == std::string::npos;
}

// Plain scalars by YAML 1.1 as Kubernetes' parser reads them; quoted ones are text.
Value Scalar(const YAML::Node& node) {
  Value value;
  value.text = node.Scalar();
  value.kind = Value::Kind::kString;
  if (node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str") return value;
  const auto is_one_of = [&](std::initializer_list<const char*> words) {
    return std::ranges::any_of(words, [&](const char* word) { return value.text == word; });
  };
  if (is_one_of({"", "~", "null", "Null", "NULL"})) {
    value.kind = Value::Kind::kNull;
  } else if (is_one_of({"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"})) {
    value.kind = Value::Kind::kBool;
    value.text = "true";
  } else if (is_one_of({"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N"})) {
    value.kind = Value::Kind::kBool;
    value.text = "false";
  } else if (IsNumber(value.text)) {
    value.kind = Value::Kind::kNumber;
  }
  return value;
}

Expected<Value> FromYaml(const YAML::Node& node, int depth) {
  if (depth > kDepthMax)
    return Invalid(
        fmt::format("yaml: line {}: nested deeper than {} levels", node.Mark().line + 1, kDepthMax));
  Value value;
  switch (node.Type()) {
    case YAML::NodeType::Undefined:
    case YAML::NodeType::Null:
      return value;
    case YAML::NodeType::Scalar:
      return Scalar(node);
    case YAML::NodeType::Sequence:
      value.kind = Value::Kind::kList;
      for (const auto& item : node) {
        BERTH_TRY(value.items.emplace_back(), FromYaml(item, depth + 1));
      }
      return value;
    case YAML::NodeType::Map:
      value.kind = Value::Kind::kMap;
      for (const auto& entry : node) {
        if (!entry.first.IsScalar())
          return Invalid(fmt::format("yaml: line {}: a key must be plain text", entry.first.Mark().line + 1));
        const std::string& key = entry.first.Scalar();
        if (value.Find(key) != nullptr) {
          return Invalid(fmt::format("yaml: unmarshal errors:\n  line {}: key \"{}\" already set in map",
                                     entry.first.Mark().line + 1, key));
        }
        BERTH_TRY(Value member, FromYaml(entry.second, depth + 1));
        value.members.emplace_back(key, std::move(member));
      }
      return value;
  }
  return value;
}

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

}  // namespace

Value::Value() = default;
Value::Value(const Value&) = default;
Value::Value(Value&&) noexcept = default;
Value& Value::operator=(const Value&) = default;
Value& Value::operator=(Value&&) noexcept = default;
Value::~Value() = default;

const Value* Value::Find(std::string_view key) const {
  const auto found =
      std::ranges::find(members, key, [](const auto& member) { return std::string_view(member.first); });
  return found == members.end() ? nullptr : &found->second;
}

Expected<Value> ParseValue(std::string_view text) {
  try {
    return FromYaml(YAML::Load(std::string(text)), 0);
  } catch (const YAML::Exception& error) {
    return Invalid(fmt::format("yaml: line {}: {}", error.mark.line + 1, error.msg));
  }
}

void Problems::UnknownField(const std::string& path, const std::string& nearest) {
  unknown_.push_back(fmt::format("unknown field \"{}\"", path));
  if (!nearest.empty()) hints_.push_back(fmt::format("did you mean \"{}\"?", nearest));
}

void Problems::WrongType(std::string_view got, std::string_view type_name, std::string_view field,
                         std::string_view go_type) {
  Other(fmt::format("json: cannot unmarshal {} into Go struct field {}.{} of type {}", got, type_name, field,
                    go_type));
}

std::string Problems::Text() const {
  if (!fatal_.empty()) return fatal_;
  if (unknown_.empty()) return "";
  std::string text = fmt::format("strict decoding error: {}", fmt::join(unknown_, ", "));
  if (!hints_.empty()) text += fmt::format("; {}", fmt::join(hints_, " "));
  return text;
}

StructReader::StructReader(const Value& value, std::string type_name, std::string path, Problems& problems)
    : value_(value), type_name_(std::move(type_name)), path_(std::move(path)), problems_(problems) {
  if (value.kind != Value::Kind::kMap && value.kind != Value::Kind::kNull) {
    problems_.Other(fmt::format("json: cannot unmarshal {} into Go value of type {}{}", KindName(value.kind),
                                type_name_, path_.empty() ? "" : fmt::format(" (at {})", path_)));
  }
}

bool StructReader::Has(std::string_view name) const {
  const Value* member = value_.Find(name);
  return member != nullptr && member->kind != Value::Kind::kNull;
}

std::string StructReader::PathOf(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

const Value* StructReader::Take(std::string_view name) {
  known_.emplace_back(name);
  return Has(name) ? value_.Find(name) : nullptr;
}

const Value* StructReader::Expect(std::string_view name, Value::Kind kind, std::string_view go_type) {
  const Value* member = Take(name);
  if (member == nullptr) return nullptr;
  if (member->kind == kind) return member;
  problems_.WrongType(KindName(member->kind), type_name_, PathOf(name), go_type);
  return nullptr;
}

void StructReader::Read(std::string_view name, std::string& out) {
  if (const Value* member = Expect(name, Value::Kind::kString, "string")) out = member->text;
}

void StructReader::Read(std::string_view name, bool& out) {
  if (const Value* member = Expect(name, Value::Kind::kBool, "bool")) out = member->text == "true";
}

void StructReader::Read(std::string_view name, std::int64_t& out, std::string_view go_type) {
  const Value* member = Expect(name, Value::Kind::kNumber, go_type);
  if (member == nullptr) return;
  std::int64_t value = 0;
  const char* begin = member->text.data() + (member->text.starts_with('+') ? 1 : 0);
  const char* end = member->text.data() + member->text.size();
  const auto [rest, error] = std::from_chars(begin, end, value);
  const bool too_wide = go_type == "int32" && (value < INT32_MIN || value > INT32_MAX);
  if (error != std::errc{} || rest != end || too_wide) {
    problems_.WrongType("number " + member->text, type_name_, PathOf(name), go_type);
    return;
  }
  out = value;
}

void StructReader::Read(std::string_view name, double& out, std::string_view go_type) {
  if (const Value* member = Expect(name, Value::Kind::kNumber, go_type))
    out = std::strtod(member->text.c_str(), nullptr);
}

void StructReader::Read(std::string_view name, std::vector<std::string>& out) {
  const Value* member = Expect(name, Value::Kind::kList, "[]string");
  if (member == nullptr) return;
  out.clear();
  for (const Value& item : member->items) {
    if (item.kind != Value::Kind::kString) {
      problems_.WrongType(KindName(item.kind), type_name_, PathOf(name), "string");
      return;
    }
    out.push_back(item.text);
  }
}

void StructReader::Each(std::string_view name,
                        const std::function<void(const Value&, const std::string&)>& each) {
  const Value* member = Expect(name, Value::Kind::kList, "list");
  if (member == nullptr) return;
  for (std::size_t i = 0; i < member->items.size(); ++i)
    each(member->items[i], fmt::format("{}[{}]", PathOf(name), i));
}

void StructReader::With(std::string_view name,
                        const std::function<void(const Value&, const std::string&)>& with) {
  if (const Value* member = Expect(name, Value::Kind::kMap, "object")) with(*member, PathOf(name));
}

void StructReader::Finish() {
  for (const auto& [name, member] : value_.members) {
    if (std::ranges::find(known_, name) != known_.end()) continue;
    problems_.UnknownField(PathOf(name), Nearest(name, known_));
  }
}

}  // namespace berth::config
