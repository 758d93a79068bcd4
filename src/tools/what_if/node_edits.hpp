// Changed versions of nodes.
#pragma once

#include <string_view>

#include "kubernetes/api/objects.hpp"
#include "tools/what_if/changes.hpp"

namespace berth::what_if {

// Without the taints of this key, and of this effect unless that is empty.
api::Node WithoutTaint(const api::Node& node, std::string_view key, std::string_view effect);

// Cordoned or uncordoned, with the taint that the node controller of Kubernetes adds and removes then.
api::Node WithCordon(const api::Node& node, bool unschedulable);

// Whether the change is one of this node's cordon, labels or taints, and the node is as the change makes it.
bool IsInEffect(const Change& change, const api::Node& node);

}  // namespace berth::what_if
