// Field ownership: the effect of an update or an applied configuration on the managers of an object's fields.
#pragma once

#include "sandbox/apiserver/apply/managed_fields.hpp"
#include "sandbox/apiserver/apply/typed.hpp"
#include "sandbox/apiserver/status.hpp"
#include "sandbox/store/resource.hpp"

namespace berth::sandbox {

// The manager that writes, and the fields that its write does not affect.
struct FieldWriter {
  std::string manager;
  std::string api_version;
  std::string subresource;
  std::string now;   // RFC 3339
  FieldSet ignored;  // fields that a write to this part of the object cannot change
};

// Records an update from `before` to `after` (both without managedFields; for a new object `before` is
// EmptyObject). The writer becomes the only owner of every changed field.
void TrackUpdate(const json::object& before, const json::object& after, const SchemaMessage* schema,
                 const FieldWriter& writer, FieldManagers& managers);

// Merges an applied configuration into the live object. Removes fields that the manager applied earlier and
// no longer applies, unless another manager owns them. Fails with 409, listing the conflicting fields, if the
// configuration changes fields of other managers; with `force` the writer takes their ownership.
ApiResult<json::object> ApplyConfiguration(const json::object& live, const json::object& config,
                                           const SchemaMessage* schema, const FieldWriter& writer, bool force,
                                           FieldManagers& managers);

// A new object of that type before any field is set.
json::object EmptyObject(const SchemaMessage* schema);

}  // namespace berth::sandbox
