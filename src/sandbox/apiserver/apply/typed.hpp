// Operations on objects with their schema: list the fields, compare, merge. Follows Kubernetes' structured
// merge: lists and maps are atomic, sets, or associative (keyed).
#pragma once

#include <optional>
#include <string>

#include "sandbox/apiserver/apply/field_set.hpp"
#include "sandbox/store/schema/schema.hpp"

namespace berth::sandbox {

struct Comparison {
  FieldSet removed;
  FieldSet modified;
  FieldSet added;
};

// In all functions `schema` may be null: then maps are merged and lists are atomic.

// The object's leaves, and the elements of its lists and maps.
FieldSet FieldsOf(const json::object& object, const SchemaMessage* schema);
Comparison CompareFields(const json::object& before, const json::object& after, const SchemaMessage* schema);
// Merges `config` into `live`. Where both have a value, config wins. List elements take config's order.
json::object MergeObjects(const json::object& live, const json::object& config, const SchemaMessage* schema);
// The object without the fields of the set. Containers that become empty are removed as well.
json::object RemoveFields(const json::object& object, const FieldSet& fields, const SchemaMessage* schema);
// Adds the struct members on the way to the members of the set.
FieldSet WithNamedFields(const FieldSet& set, const SchemaMessage* schema);

// The errors of an applied configuration, one per line: unknown fields, wrong types, elements without their
// keys, duplicate elements. nullopt if there are none.
std::optional<std::string> CheckConfiguration(const json::object& config, const SchemaMessage* schema);

// Converts an object to the form that it has after decoding and encoding by Go's types: structs by value and
// required fields are present, empty and zero values of optional fields are absent.
void Normalize(json::object& object, const SchemaMessage& schema);

// The path element of a list element: k:{...} or v:...; nullopt if the element must be an object and is not.
std::optional<std::string> ListElement(const SchemaField& list, const json::value& element);

}  // namespace berth::sandbox
