// What the API server adds to objects: the defaults of its types, and what admission does to new ones.
#pragma once

#include "base/clock.hpp"
#include "sandbox/apiserver/status.hpp"
#include "sandbox/store/store.hpp"

namespace berth::sandbox {

// The defaults of v1.37's types, on every write. They belong to whoever writes.
void DefaultObject(const ResourceType& type, json::object& document);

// What only new objects get and nobody owns: for pods priority from its class, the two NoExecute tolerations,
// matchLabelKeys merged into selectors, a fresh status; for others their first status. Fails with 403 if a
// pod's priority class does not exist or contradicts spec.priority.
ApiResult<> AdmitNew(const Store& store, WallTime now, const ResourceType& type, json::object& document);

// BestEffort, Burstable or Guaranteed.
std::string_view QosClass(const json::object& pod_spec);

}  // namespace berth::sandbox
