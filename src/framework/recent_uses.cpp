#include "framework/recent_uses.hpp"

#include <boost/container_hash/hash.hpp>

namespace berth::framework {
namespace {

std::size_t Place(const api::Pod& pod) {
  std::size_t place = 0;
  boost::hash_combine(place, pod.metadata.ns.identity());
  boost::hash_combine(place, pod.metadata.labels.identity());
  boost::hash_combine(place, pod.spec.containers.identity());
  boost::hash_combine(place, pod.status.container_statuses.identity());
  return place;
}

// The kubelet says in a condition what has become of a resize.
bool Alike(const api::Pod& a, const api::Pod& b) {
  return SameShape(a, b) && a.status.conditions == b.status.conditions;
}

// Without what is the pod's own.
api::Pod Likeness(const api::Pod& pod) {
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

PodUsePtr RecentUses::Of(const api::Pod& pod) {
  auto& known = known_[Place(pod) % known_.size()];
  if (known == nullptr || !Alike(known->like, pod)) {
    known = std::make_unique<Known>(Known{Likeness(pod), UseOf(pod, vocabulary_)});
  }
  return known->use;
}

}  // namespace berth::framework
