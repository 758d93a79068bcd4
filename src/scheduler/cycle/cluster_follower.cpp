#include "scheduler/cycle/cluster_follower.hpp"

#include <algorithm>
#include <variant>

#include "observability/log/log.hpp"
#include "scheduler/cluster/prepare_pod.hpp"

namespace berth::cycle {

void ClusterFollower::OnChange(ports::ClusterChange& change) {
  for (ChangeObserver* observer : observers_) observer->Before(change);
  std::visit([this](const auto& one) { Apply(one); }, change);
  for (ChangeObserver* observer : observers_) observer->After();
}

void ClusterFollower::OnSynced() {
  log::Info("Caches are synced", {{"nodes", cluster_.nodes().node_count()},
                                  {"pods", cluster_.pod_count()},
                                  {"pending", pods_.pending()}});
  for (ChangeObserver* observer : observers_) observer->Synced();
}

template <class T>
void ClusterFollower::Apply(const ports::Change<T>& change) {
  cluster_.objects().Apply(change);
}

void ClusterFollower::Apply(const ports::Change<api::Node>& change) {
  if (change.after == nullptr) {
    cluster_.RemoveNode(change.before->metadata.name);
  } else if (change.before == nullptr) {
    cluster_.AddNode(change.after);
  } else {
    cluster_.UpdateNode(change.after);
  }
}

void ClusterFollower::Apply(const ports::Change<api::Pod>& change) {
  const auto& [before, after] = change;
  if (after == nullptr || after->terminal()) return RemovePod(after == nullptr ? *before : *after);
  if (before != nullptr && before->metadata.uid != after->metadata.uid) RemovePod(*before);
  if (!after->spec.node_name.empty()) {
    pods_.Remove(after->metadata.Key());
    nominated_.erase(after->metadata.uid);
    cluster_.AddPod(after);
    pending_.Remove(after->metadata.uid);
    return;
  }
  const bool responsible = std::ranges::any_of(
      profiles_, [&](const auto& profile) { return profile->name() == after->spec.scheduler_name; });
  if (!responsible) return;
  pods_.Put(after);
  pending_.Put(after);
  UpdateNomination(after);
}

// The object of a delete may be outdated and lack the node, so the pod is removed from all places.
void ClusterFollower::RemovePod(const api::Pod& pod) {
  const std::string key = pod.metadata.Key();
  if (pods_.FindPending(key, pod.metadata.uid) != nullptr) pods_.Remove(key);
  nominated_.erase(pod.metadata.uid);
  pending_.Remove(pod.metadata.uid);
  cluster_.RemovePod(pod.metadata.uid);
}

void ClusterFollower::UpdateNomination(const api::PodPtr& pod) {
  if (pod->status.nominated_node_name.empty()) {
    nominated_.erase(pod->metadata.uid);
  } else {
    nominated_.insert_or_assign(pod->metadata.uid, cluster::PreparePod(pod, symbols_));
  }
}

// Observers act on their own timers, so there is no unit of work.
bool ClusterFollower::DoWork() {
  if (symbols_.ReleaseIsDue()) cluster_.ReleaseUnused();
  return false;
}

std::vector<runtime::Nomination> ClusterFollower::Nominations() const {
  std::vector<runtime::Nomination> nominations;
  nominations.reserve(nominated_.size());
  for (const auto& [uid, pod] : nominated_)
    nominations.push_back({cluster_.nodes().Find(pod.nominated), &pod});
  return nominations;
}

}  // namespace berth::cycle
