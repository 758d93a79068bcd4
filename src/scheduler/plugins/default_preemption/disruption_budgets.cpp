#include "scheduler/plugins/default_preemption/disruption_budgets.hpp"

#include <algorithm>

namespace berth::plugins {

void DisruptionBudgets::Compile() {
  if (version_ == table_.version()) return;
  version_ = table_.version();
  by_namespace_.clear();
  table_.ForEach([&](const std::shared_ptr<const api::PodDisruptionBudget>& budget) {
    // An absent, empty or invalid selector matches no pod.
    if (!budget->selector || budget->selector->empty()) return;
    auto selector = api::ParseLabelSelector(&*budget->selector);
    if (selector) by_namespace_[budget->metadata.ns].push_back({std::move(*selector), budget});
  });
}

void DisruptionBudgets::Begin() {
  Compile();
  ++count_;
}

void DisruptionBudgets::Split(std::span<const Importance::Entry> pods, std::vector<std::uint32_t>& violating,
                              std::vector<std::uint32_t>& harmless) {
  Begin();
  for (std::uint32_t i = 0; i < pods.size(); ++i) {
    const bool breaks = Violates(*pods[i].pod->pod);
    (breaks ? violating : harmless).push_back(i);
  }
}

bool DisruptionBudgets::Violates(const api::Pod& pod) {
  if (by_namespace_.empty() || pod.metadata.labels.empty()) return false;
  const auto budgets = by_namespace_.find(pod.metadata.ns);
  if (budgets == by_namespace_.end()) return false;
  bool violates = false;
  for (Budget& budget : budgets->second) {
    if (!budget.selector.Matches(pod.metadata.labels)) continue;
    // The API server has already counted this pod.
    if (std::ranges::binary_search(budget.object->disrupted_pods, pod.metadata.name)) continue;
    if (budget.count != count_) {
      budget.count = count_;
      budget.left = budget.object->disruptions_allowed;
    }
    if (--budget.left >= 0) continue;
    violates = true;
    if (counting_ == Counting::kToFirstViolated) break;
  }
  return violates;
}

}  // namespace berth::plugins
