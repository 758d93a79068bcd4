// Applies changes of the cluster to the cluster state and the queue (kube-scheduler v1.37.1's event
// handlers).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "kubernetes/ports/ports.hpp"
#include "scheduler/cluster/cluster_state.hpp"
#include "scheduler/cluster/pending_pods.hpp"
#include "scheduler/cluster/pod_groups.hpp"
#include "scheduler/cycle/binding_cycle.hpp"
#include "scheduler/cycle/cluster_events.hpp"
#include "scheduler/cycle/cycle_metrics.hpp"
#include "scheduler/cycle/pod_directory.hpp"
#include "scheduler/cycle/unclaimed_pods.hpp"
#include "scheduler/queue/scheduling_queue.hpp"
#include "scheduler/runtime/profile_list.hpp"

namespace berth::cycle {

// Scheduler loop only. All parts must outlive this object.
class ClusterUpdates {
 public:
  struct Parts {
    cluster::SymbolTable& symbols;
    cluster::ClusterState& cluster;
    cluster::PodGroups& groups;
    cluster::PendingPods& pending;
    queue::SchedulingQueue& queue;
    PodDirectory& pods;
    UnclaimedPods& unclaimed;
    BindingCycles& bindings;
    const runtime::ProfileList& profiles;
    CycleMetrics& metrics;
    const Clock& clock;
    // Whether the arrival of a pod without a node can make other pods schedulable (feature gate
    // GenericWorkload).
    bool new_pods_are_events;
  };
  explicit ClusterUpdates(const Parts& parts) : parts_(parts) {}

  // Applies the change and requeues the pods that it may make schedulable. Returns the pod if another
  // scheduler has just bound one, else null.
  api::PodPtr Apply(ports::ClusterChange& change);

 private:
  api::PodPtr On(ports::Change<api::Pod>& change);
  api::PodPtr On(ports::Change<api::Node>& change);
  api::PodPtr On(ports::Change<api::PodGroup>& change) { return OnGroup(change); }
  api::PodPtr On(ports::Change<api::CompositePodGroup>& change) { return OnGroup(change); }
  template <class T>
  api::PodPtr OnGroup(ports::Change<T>& change);
  // Objects of all other kinds are stored for lookups by plugins.
  template <class T>
  api::PodPtr On(ports::Change<T>& change);
  void RemovePod(const api::PodPtr& pod);
  void UpdateUnassignedPod(const api::PodPtr& before, const api::PodPtr& pod);
  api::PodPtr UpdateAssignedPod(const api::PodPtr& before, const api::PodPtr& pod);
  // An assumed pod is being deleted: releases its resources immediately.
  void ReleaseAssumedPod(const std::string& uid);
  // Requeues pods of at most this pod's priority, because its nomination no longer reserves resources.
  void RequeueAfterNomination(const api::PodPtr& pod);
  // Requeues the pods that the event may make schedulable, and measures the time this takes.
  void Requeue(const framework::ClusterEvent& event, const framework::EventObjects& objects);
  // Index of the profile for the pod's schedulerName; nullopt: another scheduler is responsible.
  std::optional<std::uint32_t> ProfileOf(const api::Pod& pod) const;
  HandlingTimer Time(const char* event) { return {parts_.metrics, parts_.clock, event}; }

  const Parts parts_;
};

}  // namespace berth::cycle
