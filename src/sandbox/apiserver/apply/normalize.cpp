#include "sandbox/apiserver/apply/typed.hpp"

namespace berth::sandbox {
namespace {

using Many = SchemaField::Many;

// The value that Go writes for an unset field.
json::value ZeroOf(const SchemaField& field) {
  if (field.many != Many::kOne) return nullptr;
  switch (field.type) {
    case 's':
      return "";
    case 'i':
    case 'l':
    case 'd':
    case 'I':
      return 0;
    case 'b':
      return false;
    case 'q':
      return "0";
    case 'm':
      return json::object();
    default:
      return nullptr;  // times
  }
}

// The values that Go omits for optional fields.
bool IsEmpty(const json::value& value, const SchemaField& field) {
  if (value.is_array()) return value.get_array().empty();
  if (value.is_object()) return field.many == Many::kMap && value.get_object().empty();
  if (field.many != Many::kOne || field.zero_counts || field.type == 'q' || field.type == 'I') return false;
  if (value.is_string()) return value.get_string().empty();
  if (value.is_bool()) return !value.get_bool();
  return value.is_int64() && value.get_int64() == 0;
}

void NormalizeBelow(json::value& value, const SchemaField& field) {
  if (field.type != 'm') return;
  if (field.many == Many::kOne) {
    if (value.is_object()) Normalize(value.get_object(), *field.message);
  } else if (value.is_array()) {
    for (auto& element : value.get_array()) {
      if (element.is_object()) Normalize(element.get_object(), *field.message);
    }
  } else if (value.is_object()) {
    for (auto& entry : value.get_object()) {
      if (entry.value().is_object()) Normalize(entry.value().get_object(), *field.message);
    }
  }
}

void AddMissing(json::object& object, const SchemaMessage& message) {
  for (const auto& field : message.fields) {
    if (field.inlined)
      AddMissing(object, *field.message);
    else if (field.always_there && !object.contains(field.name))
      object[field.name] = ZeroOf(field);
  }
}

}  // namespace

void Normalize(json::object& object, const SchemaMessage& schema) {
  AddMissing(object, schema);
  for (auto it = object.begin(); it != object.end();) {
    const SchemaField* field = schema.Find(std::string_view(it->key()));
    if (field != nullptr) NormalizeBelow(it->value(), *field);
    if (field != nullptr && !field->always_there && IsEmpty(it->value(), *field))
      it = object.stable_erase(it);
    else
      ++it;
  }
}

}  // namespace berth::sandbox
