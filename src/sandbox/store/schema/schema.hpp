// Names, types and merge rules of the fields of all kinds that this server supports. Used to reject malformed
// objects, to decode protobuf, for server-side apply and for the OpenAPI documents.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

namespace berth::sandbox {

struct SchemaMessage;

struct SchemaField {
  enum class Many { kOne, kList, kMap };  // kMap: from strings
  // How the elements of a list are identified, if at all (x-kubernetes-list-type).
  enum class ListType { kAtomic, kSet, kMap };

  std::uint32_t number = 0;  // protobuf
  std::string_view name;     // JSON
  char type = 'o';           // as in schema_text.hpp; 'm' for a message
  Many many = Many::kOne;
  bool inlined = false;       // its members appear as members of the containing message
  bool zero_counts = false;   // false: empty and zero values mean "unset"
  bool always_there = false;  // a struct by value: {} if unset
  bool atomic = false;        // maps and messages: replaced as a whole
  ListType list_type = ListType::kAtomic;
  std::vector<std::string_view> keys = {};  // of ListType::kMap
  const SchemaMessage* message = nullptr;
};

struct SchemaMessage {
  std::string_view name;
  bool atomic = false;                                     // replaced as a whole wherever it is used
  bool in_core_text = false;                               // belongs to the core group or metav1
  bool open = false;                                       // unknown fields are kept
  std::vector<SchemaField> fields;                         // in the order of their numbers
  std::map<std::string_view, const SchemaField*> by_name;  // inlined members included

  const SchemaField* Find(std::string_view field) const;
  const SchemaField* Find(std::uint32_t number) const;
};

// By API group ("" for core) and kind; null if unknown. metav1.DeleteOptions is in every group.
const SchemaMessage* FindSchema(std::string_view group, std::string_view kind);

// Fills `by_name` from `fields`, for messages created outside the schema. Inlined messages must be complete.
void IndexFields(SchemaMessage& message);

}  // namespace berth::sandbox
