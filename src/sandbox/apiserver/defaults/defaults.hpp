// Fields that the API server adds to objects: defaults of the types, and admission of new objects.
#pragma once

#include "base/clock.hpp"
#include "sandbox/apiserver/status.hpp"
#include "sandbox/apiserver/verbs.hpp"
#include "sandbox/store/store.hpp"

namespace berth::sandbox {

// The defaults of v1.37's types, applied on every write. The writer owns them.
void DefaultObject(const ResourceType& type, json::object& document, WallTime now);

// Changes that the server makes to an update of `part`: the status of deallocated devices is dropped, the
// time of a device taint follows its effect. `before` is the stored state.
void PrepareUpdate(const ResourceType& type, Part part, const json::object& before, json::object& after,
                   WallTime now);

// Sets the fields that only new objects get and that no manager owns. Pods: priority from the priority class,
// the two NoExecute tolerations, matchLabelKeys merged into selectors, a new status. Other kinds: the initial
// status. Fails with 403 if a pod's priority class does not exist or contradicts spec.priority.
// Claims with admin access to devices: 422 unless the namespace has the label for it.
ApiResult<> AdmitNew(const Store& store, WallTime now, const ResourceType& type, json::object& document);
// The same rule for the status of a claim.
ApiResult<> AdmitChange(const Store& store, const ResourceType& type, Part part, const json::object& before,
                        const json::object& after);

// BestEffort, Burstable or Guaranteed.
std::string_view QosClass(const json::object& pod_spec);

}  // namespace berth::sandbox
