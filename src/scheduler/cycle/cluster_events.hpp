// Which cluster events an update of an object amounts to (kube-scheduler v1.37.1).
#pragma once

#include <optional>
#include <vector>

#include "kubernetes/api/objects.hpp"
#include "scheduler/framework/cluster_event.hpp"
#include "kubernetes/ports/ports.hpp"

namespace berth::cycle {

inline constexpr framework::ClusterEvent kNodeAdded{framework::EventResource::kNode, framework::kAdd,
                                                    "NodeAdd"};
inline constexpr framework::ClusterEvent kNodeDeleted{framework::EventResource::kNode, framework::kDelete,
                                                      "NodeDelete"};
inline constexpr framework::ClusterEvent kAssignedPodAdded{framework::EventResource::kAssignedPod,
                                                           framework::kAdd, "AssignedPodAdd"};
inline constexpr framework::ClusterEvent kAssignedPodDeleted{framework::EventResource::kAssignedPod,
                                                             framework::kDelete, "AssignedPodDelete"};

// None for a heartbeat: conditions are compared by type and status only.
std::vector<framework::ClusterEvent> NodeEvents(const api::Node& before, const api::Node& after);
// For a pod on a node (kAssignedPod) or a waiting one (kTargetPod); a general update if nothing in particular
// changed.
std::vector<framework::ClusterEvent> PodEvents(const api::Pod& before, const api::Pod& after,
                                               framework::EventResource resource);

// What a change of any other kind amounts to; nothing for kinds that no plugin waits for (namespaces,
// services, controllers of pods, disruption budgets). As kube-scheduler, which sees its device taint rules as
// updates of the slices that they taint.
template <class T>
std::optional<framework::ClusterEvent> EventOf(const ports::Change<T>& change);

}  // namespace berth::cycle
