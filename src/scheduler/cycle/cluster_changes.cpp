// Handles changes of the cluster: their effects on queue and cache (kube-scheduler v1.37.1's event handlers).
#include <algorithm>

#include "observability/log/log.hpp"
#include "scheduler/cycle/cluster_events.hpp"
#include "scheduler/cycle/scheduler.hpp"
#include "scheduler/cycle/scheduler_metrics.hpp"

namespace berth::cycle {

using framework::ClusterEvent;
using ports::Change;

namespace {

constexpr const char* kWaitingPodDeleted = "UnscheduledPodDelete";  // label in metrics

}  // namespace

void Scheduler::Handle(Synced&) {
  synced_.store(true, std::memory_order_relaxed);
  log::Info("Caches are synced", {{"nodes", parts_.cache.nodes().node_count()},
                                  {"pods", parts_.cache.pod_count()},
                                  {"pending", queue_.sizes().active}});
}

void Scheduler::Handle(Work& work) { work(); }

void Scheduler::Handle(Change<api::Node>& change) {
  const framework::EventObjects objects{change.before, change.after};
  if (change.after == nullptr) {
    const HandlingTimer timer(*this, kNodeDeleted.label);
    queue_.MoveAll(kNodeDeleted, objects);
    parts_.cache.RemoveNode(change.before->metadata.name);
    return;
  }
  if (change.before == nullptr) {
    const HandlingTimer timer(*this, kNodeAdded.label);
    parts_.cache.AddNode(change.after);
    queue_.MoveAll(kNodeAdded, objects);
    return;
  }
  parts_.cache.UpdateNode(change.after);
  for (const ClusterEvent& event : NodeEvents(*change.before, *change.after)) RequeueOnEvent(event, objects);
}

void Scheduler::RequeueOnEvent(const ClusterEvent& event, const framework::EventObjects& objects) {
  const HandlingTimer timer(*this, event.label);
  queue_.MoveAll(event, objects);
}

void Scheduler::Handle(Change<api::Pod>& change) {
  const api::PodPtr& before = change.before;
  const api::PodPtr& after = change.after;
  if (after == nullptr || after->terminal()) return OnPodGone(after == nullptr ? before : after);
  if (before != nullptr && before->metadata.uid != after->metadata.uid) {
    OnPodGone(before);
    change.before = nullptr;
  }
  if (after->spec.node_name.empty()) {
    OnUnassignedPod(change.before, after);
  } else {
    OnAssignedPod(change.before, after);
  }
}

// The object of a delete may be outdated and lack the node, so the pod is removed from all places.
void Scheduler::OnPodGone(const api::PodPtr& pod) {
  const std::string& uid = pod->metadata.uid;
  const std::string key = pod->metadata.Key();
  std::optional<HandlingTimer> leaving;
  if (const auto waiting = waiting_.find(key);
      waiting != waiting_.end() && waiting->second->metadata.uid == uid) {
    leaving.emplace(*this, kWaitingPodDeleted);
    waiting_.erase(waiting);
  }
  queue_.Delete(uid);
  leaving.reset();
  if (parts_.cache.IsAssumed(uid)) return OnAssumedPodDeleted(uid);
  if (const api::PodPtr known = parts_.cache.FindPod(uid)) {
    const HandlingTimer timer(*this, kAssignedPodDeleted.label);
    parts_.cache.RemovePod(uid);
    queue_.MoveAll(kAssignedPodDeleted, {pod->spec.node_name.empty() ? known : pod, nullptr});
    return;
  }
  if (!pod->status.nominated_node_name.empty()) OnNominationEnded(pod);
}

void Scheduler::OnUnassignedPod(const api::PodPtr& before, const api::PodPtr& pod) {
  const auto profile = ProfileOf(*pod);
  if (!profile) return;
  const std::string& uid = pod->metadata.uid;
  waiting_[pod->metadata.Key()] = pod;
  if (parts_.cache.IsAssumed(uid)) {
    // The pod is being bound; the only relevant update is its deletion.
    if (pod->metadata.deleting() && (before == nullptr || !before->metadata.deleting()))
      OnAssumedPodDeleted(uid);
    return;
  }
  const HandlingTimer timer(*this, before == nullptr ? "UnscheduledPodAdd" : "UnscheduledPodUpdate");
  if (before == nullptr) {
    queue_.Add(cluster::PreparePod(pod, parts_.handle.symbols), *profile);
    return;
  }
  queue_.Update(cluster::PreparePod(pod, parts_.handle.symbols), *profile,
                PodEvents(*before, *pod, framework::EventResource::kTargetPod), {before, pod});
  const std::string& nominated = before->status.nominated_node_name;
  if (!nominated.empty() && nominated != pod->status.nominated_node_name) OnNominationEnded(before);
}

void Scheduler::OnAssignedPod(const api::PodPtr& before, const api::PodPtr& pod) {
  const bool was_assigned = before != nullptr && !before->spec.node_name.empty();
  const HandlingTimer timer(*this, was_assigned ? "AssignedPodUpdate" : kAssignedPodAdded.label);
  const bool ours = parts_.cache.Contains(pod->metadata.uid);
  parts_.cache.AddPod(pod);
  if (!ours) ReportOvercommitment(*pod);
  if (was_assigned) {
    for (const ClusterEvent& event : PodEvents(*before, *pod, framework::EventResource::kAssignedPod))
      queue_.MoveAll(event, {before, pod});
    return;
  }
  // Bound by this scheduler or another one; it must not be scheduled again.
  std::optional<HandlingTimer> leaving;
  if (waiting_.erase(pod->metadata.Key()) > 0) leaving.emplace(*this, kWaitingPodDeleted);
  queue_.Delete(pod->metadata.uid);
  leaving.reset();
  queue_.MoveAll(kAssignedPodAdded, {nullptr, pod});
}

void Scheduler::OnAssumedPodDeleted(const std::string& uid) {
  const api::PodPtr pod = parts_.cache.FindPod(uid);
  framework::WaitingPod* waiting = bindings_.FindWaiting(uid);
  // After Permit the binding cannot be stopped and will fail by itself; the resources are released now.
  if (waiting == nullptr || !waiting->Reject("", "removed")) parts_.cache.Forget(uid);
  queue_.MoveAll(kAssignedPodDeleted, {pod, nullptr});
}

void Scheduler::OnNominationEnded(const api::PodPtr& pod) {
  queue_.MoveAll(kAssignedPodDeleted, {pod, nullptr}, [&](const framework::QueuedPod& other) {
    return other.info.priority() <= pod->spec.priority;
  });
}

std::optional<std::uint32_t> Scheduler::ProfileOf(const api::Pod& pod) const {
  for (std::uint32_t i = 0; i < parts_.profiles.size(); ++i) {
    if (parts_.profiles[i]->name() == pod.spec.scheduler_name) return i;
  }
  return std::nullopt;
}

}  // namespace berth::cycle
