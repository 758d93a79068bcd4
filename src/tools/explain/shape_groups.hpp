// Pods that have the same explanation.
#pragma once

#include <vector>

#include "kubernetes/api/pod.hpp"

namespace berth::explain {

// Pods with equal explanations: of one owner and one shape, nominated to the same node. A pod with a node is
// a group of its own. In the order of the first pods.
std::vector<std::vector<api::PodPtr>> GroupByShape(const std::vector<api::PodPtr>& pods);

}  // namespace berth::explain
