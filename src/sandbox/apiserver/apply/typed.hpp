// Objects seen through their schema: which fields they have, how two of them differ, how one is merged into
// the other. The rules are those of Kubernetes' structured merge: lists and maps are atomic, sets, or known
// by keys.
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

// `schema` may be null: then maps are merged, and lists are atomic.

// The leaves of the object, and the elements of its lists and maps.
FieldSet FieldsOf(const json::object& object, const SchemaMessage* schema);
Comparison CompareFields(const json::object& before, const json::object& after, const SchemaMessage* schema);
// `config` into `live`: where both say something, config wins. Elements of lists take config's order.
json::object MergeObjects(const json::object& live, const json::object& config, const SchemaMessage* schema);
// The object without the fields of the set. What becomes empty by it goes too.
json::object RemoveFields(const json::object& object, const FieldSet& fields, const SchemaMessage* schema);
// Adds the members of structs that lead to something in the set.
FieldSet WithNamedFields(const FieldSet& set, const SchemaMessage* schema);

// What is wrong with an applied configuration: unknown fields, wrong types, elements without their keys,
// elements twice; one line each. Nothing if all is well.
std::optional<std::string> CheckConfiguration(const json::object& config, const SchemaMessage* schema);

// What an object looks like once it has been through Go's types: structs by value and required fields are
// there, empty and zero values of optional ones are not.
void Normalize(json::object& object, const SchemaMessage& schema);

// The path element of a list's element: k:{...} or v:...; nothing if it is no object but should be.
std::optional<std::string> ListElement(const SchemaField& list, const json::value& element);

}  // namespace berth::sandbox
