// Pods on nodes that keep a pod away: by anti-affinity or by host ports.
#pragma once

#include <string>
#include <vector>

#include "scheduler/cluster/pod_selectors.hpp"
#include "scheduler/explanation/situation.hpp"

namespace berth::explanation {

// The pods in the domains of this node that the pod's anti-affinity selects, or whose anti-affinity selects
// the pod; by namespace and name. Incomplete after about kMostConflictTests comparisons of a term with a pod
// or a node; those on the node itself are the first.
inline constexpr std::size_t kMostConflictTests = 1'000'000;
std::vector<api::PodPtr> AntiAffinityConflicts(const Situation& at, cluster::Row row);
// The pods on this node that take one of the pod's host ports.
std::vector<api::PodPtr> HostPortConflicts(const Situation& at, cluster::Row row);
// The nodes with pods that a required term of the pod's affinity selects.
RowSet RowsOfAffinity(const Situation& at, const cluster::AffinityTerm& term);

// "app=db in namespace shop"
std::string TermText(const cluster::AffinityTerm& term);

}  // namespace berth::explanation
