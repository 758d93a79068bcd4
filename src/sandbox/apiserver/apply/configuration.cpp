// Validation of applied configurations.
#include <fmt/format.h>

#include <set>

#include "sandbox/apiserver/apply/typed.hpp"
#include "sandbox/apiserver/apply/typed_form.hpp"

namespace berth::sandbox {
namespace {

std::string_view GoTypeOf(const json::value& value) {
  switch (value.kind()) {
    case json::kind::string:
      return "string";
    case json::kind::bool_:
      return "bool";
    case json::kind::object:
      return "map[string]interface {}";
    case json::kind::array:
      return "[]interface {}";
    case json::kind::double_:
      return "float64";
    default:
      return "int64";
  }
}

// The printed form of a value of the wrong type: &{text}.
std::string Shown(const json::value& value) {
  const std::string text = value.is_string() ? std::string(value.get_string()) : json::serialize(value);
  return fmt::format("&value.valueUnstructured{{Value:{}}}", text);
}

class Checker {
 public:
  void Check(const json::value& value, const TypeRef& type, const std::string& path) {
    if (value.is_null() || !type.known()) return;
    const bool whole = !type.element && type.field != nullptr;
    if (whole && type.field->many == SchemaField::Many::kList) return CheckList(value, type, path);
    if (whole && type.field->many == SchemaField::Many::kMap) return CheckMap(value, type, path);
    if (type.message != nullptr) return CheckStruct(value, type, path);
    CheckScalar(value, *type.field, path);
  }

  std::vector<std::string> errors;

 private:
  void AddError(const std::string& path, std::string_view what) {
    errors.push_back(path.empty() ? std::string(what) : fmt::format("{}: {}", path, what));
  }

  void CheckStruct(const json::value& value, const TypeRef& type, const std::string& path) {
    if (!value.is_object()) return AddError(path, fmt::format("expected map, got {}", Shown(value)));
    for (const auto& entry : value.get_object()) {
      const SchemaField* member = type.Member(entry.key());
      const std::string below = fmt::format("{}.{}", path, std::string_view(entry.key()));
      if (member != nullptr) {
        Check(entry.value(), {member->message, member, false}, below);
      } else if (!type.message->open &&
                 !(path.empty() && (entry.key() == "kind" || entry.key() == "apiVersion"))) {
        AddError(below, "field not declared in schema");
      }
    }
  }

  void CheckMap(const json::value& value, const TypeRef& type, const std::string& path) {
    if (!value.is_object()) return AddError(path, fmt::format("expected map, got {}", Shown(value)));
    for (const auto& entry : value.get_object())
      Check(entry.value(), type.Element(), fmt::format("{}.{}", path, std::string_view(entry.key())));
  }

  void CheckList(const json::value& value, const TypeRef& type, const std::string& path) {
    if (!value.is_array()) return AddError(path, fmt::format("expected list, got {}", Shown(value)));
    std::set<std::string> seen;
    std::size_t index = 0;
    for (const auto& element : value.get_array()) {
      std::string below = fmt::format("{}[{}]", path, index);
      if (type.FormOf(&value) == Form::kList) {
        const auto name = ListElement(*type.field, element);
        if (!name) {
          AddError(path, fmt::format("element {}: associative list with keys may not have non-map elements",
                                     index));
          ++index;
          continue;
        }
        below = path + PathElementText(*name);
        if (!seen.insert(*name).second)
          AddError(path, fmt::format("duplicate entries for key {}", PathElementText(*name)));
      }
      Check(element, type.Element(), below);
      ++index;
    }
  }

  void CheckScalar(const json::value& value, const SchemaField& field, const std::string& path) {
    switch (field.type) {
      case 's':
      case 'B':
      case 't':
      case 'T':
      case 'D':
        if (!value.is_string()) AddError(path, fmt::format("expected string, got {}", Shown(value)));
        break;
      case 'i':
      case 'l':
      case 'd':
        if (!value.is_number())
          AddError(path, fmt::format("expected numeric (int or float), got {}", GoTypeOf(value)));
        break;
      case 'b':
        if (!value.is_bool()) AddError(path, fmt::format("expected boolean, got {}", Shown(value)));
        break;
      default:
        break;  // quantities, numbers or strings
    }
  }
};

}  // namespace

std::optional<std::string> CheckConfiguration(const json::object& config, const SchemaMessage* schema) {
  Checker checker;
  checker.Check(json::value(config), TypeRef::Root(schema), {});
  if (checker.errors.empty()) return std::nullopt;
  if (checker.errors.size() == 1) return checker.errors[0];
  std::string text = "errors:";
  for (const auto& error : checker.errors) text += "\n  " + error;
  return text;
}

}  // namespace berth::sandbox
