// What the API server adds to objects when they are created: defaulting and the admission that scheduling
// sees.
#pragma once

#include "base/clock.hpp"
#include "sandbox/api_server/status.hpp"
#include "sandbox/store/store.hpp"

namespace berth::sandbox {

// Everything a new pod gets in v1.37: scheduler name, requests from limits, host ports, priority from its
// class, the two NoExecute tolerations, matchLabelKeys merged into selectors, a fresh status. Fails with 403
// if its priority class does not exist or contradicts spec.priority.
ApiResult<> DefaultPod(const Store& store, WallTime now, json::object& pod);

// Defaults of all other kinds.
void DefaultObject(const ResourceType& type, json::object& document);

// On every write of a pod, not only the first: requests follow limits.
void DefaultRequests(json::object& pod_spec);

// BestEffort, Burstable or Guaranteed.
std::string_view QosClass(const json::object& pod_spec);

}  // namespace berth::sandbox
