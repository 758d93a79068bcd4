// The conditions of pods with a node that the scheduler reads; of others it keeps little (decode_common.hpp).
#pragma once

#include "kubernetes/api/pod.hpp"

namespace berth::api {

// Whether the condition is of such a type.
bool IsReadOnNodes(const PodCondition& condition);
// Whether both have the same conditions of such types.
bool SameReadConditions(const PodStatus& a, const PodStatus& b);

}  // namespace berth::api
