#include "scheduler/plugins/gpu_fragmentation/workload_mix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cmath>
#include <functional>
#include <utility>

#include "scheduler/plugins/tentative_placement.hpp"

namespace berth::plugins {
namespace {

constexpr std::uint64_t kMostChanges = std::uint64_t{1} << 60;  // ten times as many do not overflow

}  // namespace

WorkloadMix::WorkloadMix(framework::Handle& handle, const GpuDemands& demands, std::size_t most)
    : handle_(handle), demands_(demands), most_(most) {
  handle_.nodes.Observe(*this);
  handle_.objects.Of<api::ResourceClaim>().ListenFor(self_, [this](const auto& change) { OnClaim(change); });
}

WorkloadMix::~WorkloadMix() { handle_.nodes.Forget(*this); }

void WorkloadMix::OnPodAdded(cluster::Row, const cluster::PlacedPod& pod) {
  CountPlaced();
  if (std::vector<std::string> claims = GpuDemands::ClaimsOf(*pod.pod); !claims.empty()) {
    for (const std::string& claim : claims)
      pods_of_claim_[claim].insert_or_assign(pod.pod->metadata.uid, &pod);
    claims_of_.insert_or_assign(&pod, std::move(claims));
  }
  if (IsTentative(handle_.groups, *pod.pod)) {
    tentative_.push_back(&pod);
  } else {
    Count(pod);
  }
}

// A search lasts until all its members are removed, so that the first one stands for all.
void WorkloadMix::CountPlaced() {
  const auto rest = std::ranges::find_if(
      tentative_, [&](const cluster::PlacedPod* pod) { return IsTentative(handle_.groups, *pod->pod); });
  for (auto pod = tentative_.begin(); pod != rest; ++pod) Count(**pod);
  tentative_.erase(tentative_.begin(), rest);
}

void WorkloadMix::OnPodRemoved(cluster::Row, const cluster::PlacedPod& pod) {
  CountPlaced();
  // A search takes the last one back first.
  if (!tentative_.empty() && tentative_.back() == &pod) {
    tentative_.pop_back();
  } else {
    std::erase(tentative_, &pod);
  }
  StopCounting(pod);
  const auto found = claims_of_.find(&pod);
  if (found == claims_of_.end()) return;
  for (const std::string& claim : found->second) {
    const auto pods = pods_of_claim_.find(claim);
    pods->second.erase(pod.pod->metadata.uid);
    if (pods->second.empty()) pods_of_claim_.erase(pods);
  }
  claims_of_.erase(found);
}

// Pods may be received before their claims, and claims may be deleted before their pods. The requests of a
// claim never change, but another claim may have its name.
void WorkloadMix::OnClaim(const ports::Change<api::ResourceClaim>& change) {
  const api::ObjectMeta& claim = (change.after != nullptr ? change.after : change.before)->metadata;
  if (change.before != nullptr && change.after != nullptr && change.before->metadata.uid == claim.uid) return;
  const auto pods = pods_of_claim_.find(claim.Key());
  if (pods == pods_of_claim_.end()) return;
  CountPlaced();
  // All members of a large group may use the claim.
  const boost::unordered_flat_set<const cluster::PlacedPod*> tentative(tentative_.begin(), tentative_.end());
  for (const auto& [uid, pod] : pods->second) {
    if (tentative.contains(pod)) continue;
    StopCounting(*pod);
    Count(*pod);
  }
}

void WorkloadMix::Count(const cluster::PlacedPod& pod) {
  auto demand = demands_.Of(*pod.pod, pod.use().requested, GpuDemands::Claims::kAll);
  if (!demand || demand->requests.empty()) return;
  std::string key = demand->Key();
  if (key.size() > kLongestKey) return;
  auto found = known_.find(key);
  if (found == known_.end() && known_.size() >= kMostDemands) {
    ++left_out_;
    demand_of_.insert_or_assign(&pod, known_.end());
    return;
  }
  if (found == known_.end()) found = known_.emplace(std::move(key), Demand{*std::move(demand)}).first;
  ++found->second.pods;
  ++counted_;
  demand_of_.insert_or_assign(&pod, found);
  Changed();
}

void WorkloadMix::StopCounting(const cluster::PlacedPod& pod) {
  const auto found = demand_of_.find(&pod);
  if (found == demand_of_.end()) return;
  const auto demand = found->second;
  demand_of_.erase(found);
  if (demand == known_.end()) {
    --left_out_;
    return;
  }
  --counted_;
  if (--demand->second.pods == 0) known_.erase(demand);
  Changed();
}

// The mix is not computed before the next decision: the pods of a node are added and removed one after the
// other, and their order differs after a restart.
void WorkloadMix::Changed() {
  ++changes_;
  if (due_ || 10 * changes_ <= counted_) return;
  due_ = true;
  handle_.nodes.InvalidateResults();
}

void WorkloadMix::Refresh() {
  if (!due_) return;
  due_ = false;
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
}

// --- recordings ---

Expected<WorkloadMix::Saved> WorkloadMix::Save() {
  CountPlaced();
  if (left_out_ > 0) {
    return Invalid(fmt::format(
        "pods on nodes request GPUs in more than {} ways, and which of them count depends on their order",
        kMostDemands));
  }
  Saved saved{.typical = {}, .changes = changes_};
  for (const Typical& typical : typical_)
    saved.typical.push_back({GpuDemands::Save(typical.demand), typical.weight});
  return saved;
}

Expected<void> WorkloadMix::Restore(const Saved& saved) {
  if (saved.changes > kMostChanges) return Invalid("changes: expected at most 2^60");
  if (saved.typical.size() > most_) return Invalid(fmt::format("typical: expected at most {}", most_));
  std::vector<Typical> mix;
  double sum = 0;
  for (const Saved::OfTypical& from : saved.typical) {
    if (!(from.weight > 0 && from.weight <= 1)) return Invalid("weight: expected a part of 1");
    BERTH_TRY(GpuDemand demand, demands_.Restore(from.demand));
    mix.push_back({std::move(demand), from.weight});
    sum += from.weight;
  }
  if (!mix.empty() && std::abs(sum - 1) > 1e-6) return Invalid("weight: expected a sum of 1");
  CountPlaced();
  typical_ = std::move(mix);
  changes_ = saved.changes;
  due_ = 10 * changes_ > counted_;
  ++version_;
  return {};
}

}  // namespace berth::plugins
