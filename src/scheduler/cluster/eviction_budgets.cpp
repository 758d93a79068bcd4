#include "scheduler/cluster/eviction_budgets.hpp"

namespace berth::cluster {

EvictionBudgets::EvictionBudgets(ClusterObjects& objects) {
  objects.Of<api::PodDisruptionBudget>().ForEach([this](const auto& budget) {
    if (!budget->selector) return;
    auto selector = api::ParseLabelSelector(&*budget->selector);
    if (!selector) return;  // the API server ignores it, too
    by_namespace_[budget->metadata.ns].push_back(
        {budget->metadata.name, std::move(*selector), budget->disruptions_allowed});
  });
}

EvictionBudgets::Room EvictionBudgets::For(const api::Pod& pod) const {
  Room room;
  const auto found = by_namespace_.find(pod.metadata.ns.str());
  if (found == by_namespace_.end()) return room;
  for (const Budget& budget : found->second) {
    if (!budget.selector.Matches(pod.metadata.labels)) continue;
    ++room.budgets;
    room.left = budget.left;
    room.name = budget.name;
  }
  return room;
}

std::optional<std::int64_t> EvictionBudgets::Left(const api::PodDisruptionBudget& budget) const {
  const auto found = by_namespace_.find(budget.metadata.ns.str());
  if (found == by_namespace_.end()) return std::nullopt;
  for (const Budget& one : found->second) {
    if (one.name == budget.metadata.name) return one.left;
  }
  return std::nullopt;
}

void EvictionBudgets::Change(const api::Pod& pod, std::int64_t by) {
  const auto found = by_namespace_.find(pod.metadata.ns.str());
  if (found == by_namespace_.end()) return;
  for (Budget& budget : found->second) {
    if (budget.selector.Matches(pod.metadata.labels)) budget.left += by;
  }
}

}  // namespace berth::cluster
