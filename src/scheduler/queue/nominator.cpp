#include "scheduler/queue/nominator.hpp"

namespace berth::queue {

void Nominator::Set(const framework::QueuedPodPtr& pod, std::optional<cluster::NodeNameId> node) {
  const std::string& uid = pod->info.pod->metadata.uid;
  const cluster::NodeNameId wanted = node.value_or(pod->info.nominated);
  if (wanted.known()) {
    by_uid_.insert_or_assign(uid, Nomination{pod, wanted});
  } else {
    by_uid_.erase(uid);
  }
}

void Nominator::Update(cluster::NodeNameId had, const framework::QueuedPodPtr& pod) {
  const auto known = by_uid_.find(pod->info.pod->metadata.uid);
  if (!had.known() && !pod->info.nominated.known() && known != by_uid_.end()) {
    known->second.pod = pod;
    return;
  }
  Set(pod);
}

}  // namespace berth::queue
