// metadata.managedFields: the owners of an object's fields.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sandbox/apiserver/apply/field_set.hpp"

namespace berth::sandbox {

// One entry. There is one entry per manager, operation, subresource and (for updates) API version.
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
  // The notation of conflict messages: "kubectl" or "kubectl-edit" using apps/v1.
  std::string Describe() const;
};

using FieldManagers = std::vector<FieldManager>;

// Entries that cannot be parsed are left out.
FieldManagers DecodeManagers(const json::value* managed_fields);
// Applies before updates, then by time and name: the order of kube-apiserver.
json::array EncodeManagers(FieldManagers managers);

}  // namespace berth::sandbox
