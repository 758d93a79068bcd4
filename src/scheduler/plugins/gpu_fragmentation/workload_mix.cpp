#include "scheduler/plugins/gpu_fragmentation/workload_mix.hpp"

#include <algorithm>

namespace berth::plugins {

WorkloadMix::WorkloadMix(framework::Handle& handle, const GpuDemands& demands, std::size_t most)
    : handle_(handle), demands_(demands), most_(most) {
  handle_.nodes.Observe(*this);
  handle_.objects.Of<api::ResourceClaim>().ListenFor(self_, [this](const auto& change) { OnClaim(change); });
}

WorkloadMix::~WorkloadMix() { handle_.nodes.Forget(*this); }

void WorkloadMix::OnPodAdded(cluster::Row, const cluster::PlacedPod& pod) {
  if (!Count(pod)) without_claims_.insert_or_assign(pod.pod->metadata.uid, &pod);
}

void WorkloadMix::OnPodRemoved(cluster::Row, const cluster::PlacedPod& pod) {
  const auto found = demand_of_.find(&pod);
  if (found == demand_of_.end()) {
    const auto waiting = without_claims_.find(pod.pod->metadata.uid);
    if (waiting != without_claims_.end() && waiting->second == &pod) without_claims_.erase(waiting);
    return;
  }
  const auto demand = found->second;
  demand_of_.erase(found);
  --counted_;
  if (--demand->second.pods == 0) known_.erase(demand);
  Changed();
}

// After a start, pods may be received before their claims.
void WorkloadMix::OnClaim(const ports::Change<api::ResourceClaim>& change) {
  if (without_claims_.empty() || change.after == nullptr) return;
  for (const api::ResourceClaim::Consumer& consumer : change.after->reserved_for) {
    const auto waiting = without_claims_.find(consumer.uid);
    if (waiting == without_claims_.end()) continue;
    if (Count(*waiting->second)) without_claims_.erase(waiting);
  }
}

bool WorkloadMix::Count(const cluster::PlacedPod& pod) {
  auto demand = demands_.Of(*pod.pod, pod.use().requested, GpuDemands::Claims::kAll);
  if (!demand) return false;
  if (demand->requests.empty()) return true;
  std::string key = demand->Key();
  if (key.size() > kLongestKey) return true;
  auto found = known_.find(key);
  if (found == known_.end()) {
    if (known_.size() >= kMostDemands) return true;
    found = known_.emplace(std::move(key), Demand{*std::move(demand)}).first;
  }
  ++found->second.pods;
  ++counted_;
  demand_of_.insert_or_assign(&pod, found);
  Changed();
  return true;
}

void WorkloadMix::Changed() {
  if (10 * ++changes_ <= counted_) return;
  changes_ = 0;
  std::vector<const Demand*> frequent;
  for (const auto& [key, demand] : known_) frequent.push_back(&demand);
  std::ranges::stable_sort(frequent, std::greater(), &Demand::pods);  // equal ones by key
  if (frequent.size() > most_) frequent.resize(most_);
  double pods = 0;
  for (const Demand* demand : frequent) pods += static_cast<double>(demand->pods);
  typical_.clear();
  for (const Demand* demand : frequent)
    typical_.push_back({demand->demand, static_cast<double>(demand->pods) / pods});
  ++version_;
  handle_.nodes.InvalidateResults();
}

}  // namespace berth::plugins
