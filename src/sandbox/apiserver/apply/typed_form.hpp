// The merge form of a value, by its type. Private to apply/.
#pragma once

#include "sandbox/store/document.hpp"
#include "sandbox/store/schema/schema.hpp"

namespace berth::sandbox {

enum class Form { kLeaf, kStruct, kMap, kList };

// The type of a value somewhere in an object.
struct TypeRef {
  const SchemaMessage* message = nullptr;  // of a struct
  const SchemaField* field = nullptr;      // null: the object itself, or an unknown type
  bool element = false;                    // an element of the field's list or map

  static TypeRef Root(const SchemaMessage* schema) { return {schema, nullptr, false}; }

  bool known() const { return message != nullptr || field != nullptr; }
  TypeRef Element() const { return {field->message, field, true}; }
  // The field of a struct's member; an unknown type if there is no such member.
  const SchemaField* Member(std::string_view name) const {
    return message != nullptr ? message->Find(name) : nullptr;
  }

  // The form of a value of unknown type follows from the value: maps are merged, all else is a leaf.
  Form FormOf(const json::value* value) const {
    if (field == nullptr) {
      if (message != nullptr) return Form::kStruct;
      return value != nullptr && value->is_object() ? Form::kMap : Form::kLeaf;
    }
    if (!element && field->many == SchemaField::Many::kList) {
      return field->list_type == SchemaField::ListType::kAtomic ? Form::kLeaf : Form::kList;
    }
    if (!element && field->many == SchemaField::Many::kMap) return field->atomic ? Form::kLeaf : Form::kMap;
    if (field->type == 'u') return value != nullptr && value->is_object() ? Form::kMap : Form::kLeaf;
    if (field->type != 'm' || field->message->atomic) return Form::kLeaf;
    return field->atomic && !element ? Form::kLeaf : Form::kStruct;
  }

  // The type of the value under that key of a struct or map.
  TypeRef Below(Form form, std::string_view key) const {
    if (form == Form::kStruct) {
      const SchemaField* member = Member(key);
      return member != nullptr ? TypeRef{member->message, member, false} : TypeRef{};
    }
    if (field != nullptr && field->many == SchemaField::Many::kMap && !element) return Element();
    return {};
  }
};

}  // namespace berth::sandbox
