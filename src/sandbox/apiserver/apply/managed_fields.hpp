// metadata.managedFields: who owns which fields of an object.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sandbox/apiserver/apply/field_set.hpp"

namespace berth::sandbox {

// One entry. Entries of the same manager, operation, subresource and (for updates) API version are one.
struct FieldManager {
  std::string name;
  bool apply = false;
  std::string api_version;
  std::string subresource;
  std::string time;  // of the last change of `fields`
  FieldSet fields;

  bool SameAs(const FieldManager& other) const {
    return name == other.name && apply == other.apply && subresource == other.subresource &&
           (apply || api_version == other.api_version);
  }
  // As conflicts name it: "kubectl" or "kubectl-edit" using apps/v1.
  std::string Describe() const;
};

using FieldManagers = std::vector<FieldManager>;

// Entries that cannot be understood are left out.
FieldManagers DecodeManagers(const json::value* managed_fields);
// Applies before updates, then by time and name, as the original sorts them.
json::array EncodeManagers(FieldManagers managers);

}  // namespace berth::sandbox
