#include "queue/in_flight.hpp"

namespace berth::queue {

bool InFlight::Begin(const framework::QueuedPodPtr& pod) {
  const auto [entry, fresh] = pods_.try_emplace(pod->info.pod->metadata.uid);
  if (!fresh) return false;
  items_.push_back({pod, {}, {}});
  entry->second = std::prev(items_.end());
  return true;
}

api::PodPtr InFlight::FindByKey(std::string_view key) const {
  for (const auto& [uid, item] : pods_) {
    if (item->pod->info.key == key) return item->pod->info.pod;
  }
  return nullptr;
}

}  // namespace berth::queue
