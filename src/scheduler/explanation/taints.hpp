// The taints that keep a pod from a node.
#pragma once

#include <string>
#include <vector>

#include "kubernetes/api/node.hpp"
#include "kubernetes/api/pod.hpp"

namespace berth::explanation {

// Taints with the effect NoSchedule or NoExecute that no toleration of the pod matches, in the node's order.
std::vector<api::Taint> UntoleratedTaints(const api::Pod& pod, const api::Node& node);

// As kubectl writes it: "key=value:effect", or "key:effect" without a value.
std::string TaintText(const api::Taint& taint);
std::vector<std::string> TaintTexts(const std::vector<api::Taint>& taints);

}  // namespace berth::explanation
