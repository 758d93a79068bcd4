#include "kubernetes/client/field_reader.hpp"

#include <fmt/format.h>

#include "base/invisible_characters.hpp"
#include "http/base64.hpp"

namespace berth::client {
namespace {

using yaml::Value;
using ValueKind = Value::Kind;

std::string_view NameOf(ValueKind kind) {
  switch (kind) {
    case ValueKind::kNull:
      return "null";
    case ValueKind::kBool:
      return "a boolean";
    case ValueKind::kNumber:
      return "a number";
    case ValueKind::kString:
      return "text";
    case ValueKind::kList:
      return "a list";
    case ValueKind::kMap:
      return "a map";
  }
  return "";
}

std::string WrongKind(ValueKind expected, ValueKind found) {
  return fmt::format("expected {}, got {}", NameOf(expected), NameOf(found));
}

}  // namespace

std::optional<std::string> ReadDocument(std::string_view text,
                                        const std::function<void(const FieldReader&)>& read) {
  const auto parsed = yaml::ParseYaml(text);
  if (!parsed) return parsed.error().message;
  const Value& root = parsed->root;
  if (root.kind == ValueKind::kNull) return std::nullopt;
  std::optional<std::string> error;
  if (root.kind == ValueKind::kMap) {
    read(FieldReader(root, "", error));
  } else {
    error = WrongKind(ValueKind::kMap, root.kind);
  }
  if (error) error = WithInvisibleCharacter({ErrorCode::kInvalid, *std::move(error)}, text).message;
  return error;
}

void FieldReader::Text(std::string_view key, std::string& out) const {
  if (const Value* field = Find(key, ValueKind::kString)) out = field->text;
}

void FieldReader::Boolean(std::string_view key, bool& out) const {
  if (const Value* field = Find(key, ValueKind::kBool)) out = field->text == "true";
}

void FieldReader::Texts(std::string_view key, std::vector<std::string>& out) const {
  const Value* field = Find(key, ValueKind::kList);
  if (field == nullptr) return;
  for (std::size_t i = 0; i < field->items.size(); ++i) {
    const Value& item = field->items[i];
    if (item.kind != ValueKind::kString)
      return Record(fmt::format("{}[{}]", PathOf(key), i), WrongKind(ValueKind::kString, item.kind));
    out.push_back(item.text);
  }
}

void FieldReader::Base64(std::string_view key, std::string& out) const {
  std::string text;
  Text(key, text);
  auto decoded = http::DecodeBase64(text);
  if (!decoded) return Record(PathOf(key), "illegal base64 data");
  out = std::move(*decoded);
}

std::string FieldReader::Json(std::string_view key) const {
  std::string out;
  if (const Value* field = Find(key)) yaml::AppendJson(out, *field);
  return out;
}

std::optional<FieldReader> FieldReader::Map(std::string_view key) const {
  const Value* field = Find(key, ValueKind::kMap);
  if (field == nullptr) return std::nullopt;
  return FieldReader(*field, PathOf(key), *error_);
}

void FieldReader::EachItem(std::string_view key, const std::function<void(const FieldReader&)>& visit) const {
  const Value* field = Find(key, ValueKind::kList);
  if (field == nullptr) return;
  for (std::size_t i = 0; i < field->items.size(); ++i) {
    const Value& item = field->items[i];
    const std::string path = fmt::format("{}[{}]", PathOf(key), i);
    if (item.kind != ValueKind::kMap) return Record(path, WrongKind(ValueKind::kMap, item.kind));
    visit(FieldReader(item, path, *error_));
  }
}

void FieldReader::EachKey(const std::function<void(const std::string&)>& visit) const {
  for (const auto& [key, member] : map_->members) visit(key);
}

void FieldReader::Fail(std::string_view problem) const { Record(path_, problem); }

const Value* FieldReader::Find(std::string_view key) const {
  const Value* field = map_->Find(key);
  return field == nullptr || field->kind == ValueKind::kNull ? nullptr : field;
}

const Value* FieldReader::Find(std::string_view key, ValueKind kind) const {
  const Value* field = Find(key);
  if (field == nullptr || field->kind == kind) return field;
  Record(PathOf(key), WrongKind(kind, field->kind));
  return nullptr;
}

std::string FieldReader::PathOf(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

void FieldReader::Record(const std::string& where, std::string_view problem) const {
  if (*error_) return;
  *error_ = where.empty() ? std::string(problem) : fmt::format("{}: {}", where, problem);
}

}  // namespace berth::client
