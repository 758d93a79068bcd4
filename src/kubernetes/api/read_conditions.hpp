// The conditions that decisions depend on. Of pods with a node little is kept of the others
// (decode_common.hpp).
#pragma once

#include "kubernetes/api/pod.hpp"

namespace berth::api {

// Whether the condition is of such a type: DisruptionTarget (kube-scheduler v1.37.1 sets it on pods that it
// preempts) or PodResizePending (the kubelet: a resize is infeasible or deferred).
bool IsReadOnNodes(const PodCondition& condition);
// Whether both have the same conditions of such types, in the same order. Other conditions are ignored.
bool SameReadConditions(const PodStatus& a, const PodStatus& b);

}  // namespace berth::api
