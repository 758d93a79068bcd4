// Field ownership: what an update or an applied configuration does to the managers of an object's fields.
#pragma once

#include "sandbox/apiserver/apply/managed_fields.hpp"
#include "sandbox/apiserver/apply/typed.hpp"
#include "sandbox/apiserver/status.hpp"
#include "sandbox/store/resource.hpp"

namespace berth::sandbox {

// Who writes, and what of the write does not count.
struct FieldWriter {
  std::string manager;
  std::string api_version;
  std::string subresource;
  std::string now;   // RFC 3339
  FieldSet ignored;  // what this part of the object cannot change
};

// An update from `before` to `after` (both without managedFields; `before` is what an empty object looks like
// if `after` is new): what changed belongs to the writer from now on, and to nobody else.
void TrackUpdate(const json::object& before, const json::object& after, const SchemaMessage* schema,
                 const FieldWriter& writer, FieldManagers& managers);

// Merges an applied configuration into the live object. Fields that the manager applied earlier and does not
// apply any more go, unless somebody else owns them. 409 names what others own and the configuration changes;
// with `force` it is taken from them.
ApiResult<json::object> ApplyConfiguration(const json::object& live, const json::object& config,
                                           const SchemaMessage* schema, const FieldWriter& writer, bool force,
                                           FieldManagers& managers);

// What an object of that type looks like before anything is said about it.
json::object EmptyObject(const SchemaMessage* schema);

}  // namespace berth::sandbox
