#include "scheduler/queue/in_flight.hpp"

namespace berth::queue {

bool InFlight::Begin(const framework::QueuedPodPtr& pod) {
  const auto [entry, fresh] = pods_.try_emplace(pod->info.pod->metadata.uid);
  if (!fresh) return false;
  items_.push_back({pod, {}, {}, 0});
  entry->second = std::prev(items_.end());
  by_key_[pod->info.key] = entry->second;
  return true;
}

api::PodPtr InFlight::FindByKey(const std::string& key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second->pod->info.pod;
}

}  // namespace berth::queue
