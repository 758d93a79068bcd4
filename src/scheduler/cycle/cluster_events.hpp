// Maps updates of objects to cluster events (kube-scheduler v1.37.1).
#pragma once

#include <optional>
#include <vector>

#include "kubernetes/api/objects.hpp"
#include "kubernetes/ports/ports.hpp"
#include "scheduler/framework/cluster_event.hpp"

namespace berth::cycle {

inline constexpr framework::ClusterEvent kNodeAdded{framework::EventResource::kNode, framework::kAdd,
                                                    "NodeAdd"};
inline constexpr framework::ClusterEvent kNodeDeleted{framework::EventResource::kNode, framework::kDelete,
                                                      "NodeDelete"};
inline constexpr framework::ClusterEvent kUnscheduledPodAdded{framework::EventResource::kUnscheduledPod,
                                                              framework::kAdd, "UnscheduledPodAdd"};
inline constexpr framework::ClusterEvent kAssignedPodAdded{framework::EventResource::kAssignedPod,
                                                           framework::kAdd, "AssignedPodAdd"};
inline constexpr framework::ClusterEvent kAssignedPodDeleted{framework::EventResource::kAssignedPod,
                                                             framework::kDelete, "AssignedPodDelete"};
// The profiles were replaced.
inline constexpr framework::ClusterEvent kConfigurationReloaded{
    framework::EventResource::kAny, framework::kAllActions, "ConfigurationReload"};

// Empty for a heartbeat: conditions are compared by type and status only.
std::vector<framework::ClusterEvent> NodeEvents(const api::Node& before, const api::Node& after);
// For a pod on a node (kAssignedPod) or a waiting pod (kTargetPod). A general update event if no specific
// property changed.
std::vector<framework::ClusterEvent> PodEvents(const api::Pod& before, const api::Pod& after,
                                               framework::EventResource resource);

// The event of a change of any other kind; nullopt for kinds for which no plugin registers (namespaces,
// services, controllers of pods, disruption budgets). As in kube-scheduler, a device taint rule counts as an
// update of the slices that it taints.
template <class T>
std::optional<framework::ClusterEvent> EventOf(const ports::Change<T>& change);

}  // namespace berth::cycle
