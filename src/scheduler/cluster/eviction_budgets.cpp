#include "scheduler/cluster/eviction_budgets.hpp"

namespace berth::cluster {

EvictionBudgets::EvictionBudgets(ClusterObjects& objects) {
  objects.Of<api::PodDisruptionBudget>().ForEach([this](const auto& budget) {
    if (!budget->selector) return;
    auto selector = api::ParseLabelSelector(&*budget->selector);
    if (!selector) return;  // the API server ignores it, too
    budgets_.push_back(
        {budget->metadata.ns, budget->metadata.name, std::move(*selector), budget->disruptions_allowed});
  });
}

EvictionBudgets::Room EvictionBudgets::For(const api::Pod& pod) const {
  Room room;
  for (const Budget& budget : budgets_) {
    if (budget.ns != pod.metadata.ns.str() || !budget.selector.Matches(pod.metadata.labels)) continue;
    ++room.budgets;
    room.left = budget.left;
    room.name = budget.name;
  }
  return room;
}

std::optional<std::int64_t> EvictionBudgets::Left(const api::PodDisruptionBudget& budget) const {
  for (const Budget& one : budgets_) {
    if (one.ns == budget.metadata.ns.str() && one.name == budget.metadata.name) return one.left;
  }
  return std::nullopt;
}

void EvictionBudgets::Change(const api::Pod& pod, std::int64_t by) {
  for (Budget& budget : budgets_) {
    if (budget.ns == pod.metadata.ns.str() && budget.selector.Matches(pod.metadata.labels)) budget.left += by;
  }
}

}  // namespace berth::cluster
