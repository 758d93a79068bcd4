#include "scheduler/cluster/recent_uses.hpp"

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <iterator>

#include "scheduler/cluster/prepare_pod.hpp"

namespace berth::cluster {
namespace {

std::size_t HashOf(const api::Pod& pod) {
  std::size_t hash = 0;
  boost::hash_combine(hash, pod.metadata.ns.identity());
  boost::hash_combine(hash, pod.metadata.labels.identity());
  boost::hash_combine(hash, pod.spec.containers.identity());
  boost::hash_combine(hash, pod.status.container_statuses.identity());
  return hash;
}

// A copy of the parts of a pod that its workload determines.
api::Pod WorkloadPart(const api::Pod& pod) {
  api::Pod like;
  like.metadata.ns = pod.metadata.ns;
  like.metadata.labels = pod.metadata.labels;
  like.metadata.annotations = pod.metadata.annotations;
  like.metadata.controller = pod.metadata.controller;
  like.metadata.deletion_timestamp = pod.metadata.deletion_timestamp;
  like.spec = pod.spec;
  like.status = pod.status;
  return like;
}

}  // namespace

PodUsePtr PodUseCache::Of(const api::Pod& pod) {
  const std::size_t hash = HashOf(pod);
  auto& place = entries_[hash % kSets];
  auto found = std::ranges::find_if(place, [&](const std::unique_ptr<Entry>& known) {
    return known != nullptr && known->hash == hash && SameShape(known->like, pod);
  });
  if (found == place.end()) {
    found = std::prev(found);
    *found = std::make_unique<Entry>(Entry{hash, WorkloadPart(pod), UseOf(pod, symbols_)});
  }
  std::rotate(place.begin(), found, std::next(found));
  return place.front()->use;
}

void PodUseCache::ReleaseUnused() {
  for (auto& set : entries_) {
    for (std::unique_ptr<Entry>& entry : set) {
      if (entry != nullptr && entry->use.use_count() == 1) entry.reset();
    }
  }
}

}  // namespace berth::cluster
