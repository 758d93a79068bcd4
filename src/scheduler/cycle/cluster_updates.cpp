#include "scheduler/cycle/cluster_updates.hpp"

#include <type_traits>
#include <variant>

#include "base/check.hpp"
#include "scheduler/cluster/prepare_pod.hpp"

namespace berth::cycle {

using framework::ClusterEvent;
using ports::Change;

namespace {

constexpr const char* kPendingPodDeleted = "UnscheduledPodDelete";  // label in metrics

}  // namespace

api::PodPtr ClusterUpdates::Apply(ports::ClusterChange& change) {
  return std::visit([this](auto& one) { return On(one); }, change);
}

template <class T>
api::PodPtr ClusterUpdates::On(Change<T>& change) {
  parts_.cluster.objects().Apply(change);
  if (const auto event = EventOf(change)) {
    framework::EventObjects objects{change.before, change.after};
    // Their events are those of slices, whose hints would take them for slices.
    if constexpr (std::is_same_v<T, api::DeviceTaintRule>) objects = {};
    Requeue(*event, objects);
  }
  return nullptr;
}

void ClusterUpdates::Requeue(const ClusterEvent& event, const framework::EventObjects& objects) {
  const HandlingTimer timer = Time(event.label);
  parts_.queue.MoveAll(event, objects);
}

// --- nodes ---

api::PodPtr ClusterUpdates::On(Change<api::Node>& change) {
  const framework::EventObjects objects{change.before, change.after};
  if (change.after == nullptr) {
    const HandlingTimer timer = Time(kNodeDeleted.label);
    parts_.queue.MoveAll(kNodeDeleted, objects);
    parts_.cluster.RemoveNode(change.before->metadata.name);
  } else if (change.before == nullptr) {
    const HandlingTimer timer = Time(kNodeAdded.label);
    parts_.cluster.AddNode(change.after);
    parts_.queue.MoveAll(kNodeAdded, objects);
  } else {
    parts_.cluster.UpdateNode(change.after);
    for (const ClusterEvent& event : NodeEvents(*change.before, *change.after)) Requeue(event, objects);
  }
  return nullptr;
}

// --- pod groups ---

template <class T>
api::PodPtr ClusterUpdates::OnGroup(Change<T>& change) {
  const api::PodGroup& group = change.after != nullptr ? *change.after : *change.before;
  const std::string key = cluster::KeyOf(group);
  const auto event = EventOf(change);
  const HandlingTimer timer = Time(event->label);
  if (change.after == nullptr) {
    const auto root = parts_.groups.RootOf(key);
    parts_.groups.RemoveObject(key);
    if (root) parts_.queue.OnGroupDeleted(*root);
  } else {
    parts_.groups.PutObject(change.after);
    change.before == nullptr ? parts_.queue.OnGroupAdded(key) : parts_.queue.OnGroupUpdated(key);
  }
  parts_.queue.MoveAll(*event, {change.before, change.after});
  return nullptr;
}

// --- pods ---

api::PodPtr ClusterUpdates::On(Change<api::Pod>& change) {
  const api::PodPtr& before = change.before;
  const api::PodPtr& after = change.after;
  if (after == nullptr || after->terminal()) {
    RemovePod(after == nullptr ? before : after);
    return nullptr;
  }
  if (before != nullptr && before->metadata.uid != after->metadata.uid) {
    RemovePod(before);
    change.before = nullptr;
  }
  if (!after->spec.node_name.empty()) return UpdateAssignedPod(change.before, after);
  UpdateUnassignedPod(change.before, after);
  return nullptr;
}

// The object of a delete may be outdated and lack the node, so the pod is removed from all places.
void ClusterUpdates::RemovePod(const api::PodPtr& pod) {
  const std::string& uid = pod->metadata.uid;
  const std::string key = pod->metadata.Key();
  if (parts_.pods.FindPending(key, uid) != nullptr) {
    const HandlingTimer timer = Time(kPendingPodDeleted);
    parts_.pods.Remove(key);
    parts_.queue.Delete(*pod);
  }
  BERTH_DCHECK(!parts_.queue.Contains(uid), key, uid);
  parts_.groups.Remove(*pod);
  parts_.pending.Remove(uid);
  parts_.unclaimed.Remove(uid);
  if (parts_.cluster.IsAssumed(uid)) return ReleaseAssumedPod(uid);
  if (const api::PodPtr known = parts_.cluster.FindPod(uid)) {
    const HandlingTimer timer = Time(kAssignedPodDeleted.label);
    parts_.cluster.RemovePod(uid);
    parts_.queue.MoveAll(kAssignedPodDeleted, {pod->spec.node_name.empty() ? known : pod, nullptr});
    return;
  }
  if (!pod->status.nominated_node_name.empty()) RequeueAfterNomination(pod);
}

void ClusterUpdates::UpdateUnassignedPod(const api::PodPtr& before, const api::PodPtr& pod) {
  const auto profile = ProfileOf(*pod);
  const std::string& uid = pod->metadata.uid;
  // The pod is being bound; the only relevant update is its deletion.
  const auto update_assumed = [&] {
    if (pod->metadata.deleting() && (before == nullptr || !before->metadata.deleting()))
      ReleaseAssumedPod(uid);
  };
  if (!profile) {
    // A pod that is being bound stays where it is; if that fails, its last version is needed.
    parts_.pods.FindPending(pod->metadata.Key(), uid) != nullptr ? parts_.pods.Put(pod)
                                                                 : parts_.unclaimed.Put(pod);
    if (parts_.cluster.IsAssumed(uid)) update_assumed();
    return;
  }
  parts_.unclaimed.Remove(uid);
  parts_.pods.Put(pod);
  parts_.groups.Put(pod);
  parts_.pending.Put(pod);
  if (parts_.cluster.IsAssumed(uid)) return update_assumed();
  const HandlingTimer timer = Time(before == nullptr ? "UnscheduledPodAdd" : "UnscheduledPodUpdate");
  if (before == nullptr) {
    parts_.queue.Add(cluster::PreparePod(pod, parts_.symbols), *profile);
    if (parts_.new_pods_are_events) parts_.queue.MoveAll(kUnscheduledPodAdded, {nullptr, pod});
    return;
  }
  parts_.queue.Update(cluster::PreparePod(pod, parts_.symbols), *profile,
                      PodEvents(*before, *pod, framework::EventResource::kTargetPod), {before, pod});
  const std::string& nominated = before->status.nominated_node_name;
  if (!nominated.empty() && nominated != pod->status.nominated_node_name) RequeueAfterNomination(before);
}

api::PodPtr ClusterUpdates::UpdateAssignedPod(const api::PodPtr& before, const api::PodPtr& pod) {
  const bool was_assigned = before != nullptr && !before->spec.node_name.empty();
  const HandlingTimer timer = Time(was_assigned ? "AssignedPodUpdate" : kAssignedPodAdded.label);
  const bool known = parts_.cluster.Contains(pod->metadata.uid);
  parts_.cluster.AddPod(pod);
  parts_.groups.Put(pod);
  parts_.pending.Remove(pod->metadata.uid);
  parts_.unclaimed.Remove(pod->metadata.uid);
  const api::PodPtr foreign = known ? nullptr : pod;
  if (was_assigned) {
    for (const ClusterEvent& event : PodEvents(*before, *pod, framework::EventResource::kAssignedPod))
      parts_.queue.MoveAll(event, {before, pod});
    return foreign;
  }
  // Bound by this scheduler or another one; it must not be scheduled again.
  if (parts_.pods.Remove(pod->metadata.Key())) {
    const HandlingTimer leaving = Time(kPendingPodDeleted);
    parts_.queue.Delete(*pod);
  }
  BERTH_DCHECK(!parts_.queue.Contains(pod->metadata.uid), pod->metadata.Key(), pod->metadata.uid);
  parts_.queue.MoveAll(kAssignedPodAdded, {nullptr, pod});
  return foreign;
}

void ClusterUpdates::ReleaseAssumedPod(const std::string& uid) {
  const api::PodPtr pod = parts_.cluster.FindPod(uid);
  framework::WaitingPod* waiting = parts_.bindings.FindWaiting(uid);
  // After Permit the binding cannot be stopped and will fail by itself; the resources are released now.
  if ((waiting == nullptr || !waiting->Reject("", "removed")) && parts_.cluster.Forget(uid))
    parts_.groups.Forget(*pod);
  parts_.queue.MoveAll(kAssignedPodDeleted, {pod, nullptr});
}

void ClusterUpdates::RequeueAfterNomination(const api::PodPtr& pod) {
  parts_.queue.MoveAll(kAssignedPodDeleted, {pod, nullptr},
                       [priority = pod->spec.priority](const framework::QueuedPod& other) {
                         return other.info.priority() <= priority;
                       });
}

std::optional<std::uint32_t> ClusterUpdates::ProfileOf(const api::Pod& pod) const {
  return parts_.profiles.Find(pod.spec.scheduler_name.str());
}

}  // namespace berth::cycle
