#include "scheduler/plugins/default_preemption/disruption_budgets.hpp"

#include <algorithm>

namespace berth::plugins {

DisruptionBudgets::DisruptionBudgets(cluster::ClusterObjects& objects, Counting counting)
    : table_(objects.Of<api::PodDisruptionBudget>()), counting_(counting) {
  table_.ForEach([&](const auto& budget) { stale_.insert(budget->metadata.ns); });
  objects.Of<api::PodDisruptionBudget>().ListenFor(
      listening_, [this](const ports::Change<api::PodDisruptionBudget>& change) { OnChange(change); });
}

// The disruption controller writes the status whenever a pod of a budget starts or ends.
void DisruptionBudgets::OnChange(const ports::Change<api::PodDisruptionBudget>& change) {
  const api::ObjectMeta& meta = (change.after != nullptr ? change.after : change.before)->metadata;
  const bool same_selector = change.before != nullptr && change.after != nullptr &&
                             change.before->selector == change.after->selector;
  if (!same_selector) {
    stale_.insert(meta.ns);
    return;
  }
  const auto known = by_namespace_.find(meta.ns);
  if (known == by_namespace_.end()) return;  // not valid, or not compiled yet
  std::vector<Budget>& budgets = known->second.budgets;
  const auto budget = std::ranges::lower_bound(
      budgets, meta.name, {}, [](const Budget& one) -> const auto& { return one.object->metadata.name; });
  if (budget != budgets.end() && budget->object->metadata.name == meta.name) budget->object = change.after;
}

void DisruptionBudgets::Compile(const std::string& ns) {
  Namespace compiled;
  table_.ForEachIn(ns, [&](const std::shared_ptr<const api::PodDisruptionBudget>& budget) {
    // An absent, empty or invalid selector matches no pod.
    if (!budget->selector || budget->selector->empty()) return;
    auto selector = api::ParseLabelSelector(&*budget->selector);
    if (!selector) return;
    compiled.index.Add(*selector, static_cast<std::uint32_t>(compiled.budgets.size()));
    compiled.budgets.push_back({std::move(*selector), budget});
  });
  by_namespace_.erase(ns);
  if (!compiled.budgets.empty()) by_namespace_.emplace(ns, std::move(compiled));
}

void DisruptionBudgets::Begin() {
  for (const std::string& ns : stale_) Compile(ns);
  stale_.clear();
  ++count_;
}

void DisruptionBudgets::Split(std::span<const Importance::Entry> pods, std::vector<std::uint32_t>& violating,
                              std::vector<std::uint32_t>& harmless) {
  Begin();
  for (std::uint32_t i = 0; i < pods.size(); ++i) {
    const bool breaks = Violates(*pods[i].pod);
    (breaks ? violating : harmless).push_back(i);
  }
}

bool DisruptionBudgets::Violates(const cluster::PlacedPod& placed) {
  const api::Pod& pod = *placed.pod;
  if (by_namespace_.empty() || pod.metadata.labels.empty()) return false;
  const auto known = by_namespace_.find(pod.metadata.ns.str());
  if (known == by_namespace_.end()) return false;
  Namespace& of = known->second;
  candidates_.clear();
  of.index.ForEachCandidate(*placed.use().labels,
                            [&](std::uint32_t budget) { candidates_.push_back(budget); });
  std::ranges::sort(candidates_);
  bool violates = false;
  for (const std::uint32_t candidate : candidates_) {
    Budget& budget = of.budgets[candidate];
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
