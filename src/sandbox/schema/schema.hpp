// What the fields of Kubernetes' objects are called and of which type they are, for every kind this server
// knows: the basis for refusing malformed objects and for reading protobuf.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

namespace berth::sandbox {

struct SchemaMessage;

struct SchemaField {
  enum class Many { kOne, kList, kMap };  // kMap: from strings

  std::uint32_t number = 0;  // protobuf
  std::string_view name;     // JSON
  char type = 'o';           // as in schema_text.hpp; 'm' for a message
  Many many = Many::kOne;
  bool inlined = false;      // its members stand where it would
  bool zero_counts = false;  // false: empty and zero mean "unset"
  const SchemaMessage* message = nullptr;
};

struct SchemaMessage {
  std::string_view name;
  std::vector<SchemaField> fields;                         // in the order of their numbers
  std::map<std::string_view, const SchemaField*> by_name;  // inlined members included

  const SchemaField* Find(std::string_view field) const;
  const SchemaField* Find(std::uint32_t number) const;
};

// By API group ("" for core) and kind; null if unknown. metav1.DeleteOptions is in every group.
const SchemaMessage* FindSchema(std::string_view group, std::string_view kind);

}  // namespace berth::sandbox
