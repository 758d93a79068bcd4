// PodDisruptionBudgets as preemption minds them: it prefers victims that no budget protects.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kubernetes/api/label_selector.hpp"
#include "scheduler/cluster/cluster_objects.hpp"
#include "scheduler/plugins/default_preemption/importance.hpp"

namespace berth::plugins {

// Selectors are compiled when a budget changes. One thread: the scheduler loop's.
class DisruptionBudgets {
 public:
  explicit DisruptionBudgets(const cluster::ClusterObjects& objects)  // which outlive it
      : table_(objects.Of<api::PodDisruptionBudget>()) {}

  // The pods (most important first) whose eviction, one after the other, would break a budget: their indices
  // are appended to `violating`, those of the others to `harmless`.
  void Split(std::span<const Importance::Entry> pods, std::vector<std::uint32_t>& violating,
             std::vector<std::uint32_t>& harmless);

 private:
  struct Budget {
    api::ParsedSelector selector;
    std::shared_ptr<const api::PodDisruptionBudget> object;
    std::int64_t left = 0;           // while a node is looked at
    std::uint64_t looked_at_in = 0;  // which look `left` belongs to
  };
  // Nothing happens if no budget has changed since.
  void Compile();
  bool Violates(const api::Pod& pod);

  const cluster::ObjectTable<api::PodDisruptionBudget>& table_;
  std::uint64_t version_ = 0;  // of the table, as compiled
  std::uint64_t look_ = 0;
  std::map<std::string, std::vector<Budget>, std::less<>> by_namespace_;  // budgets by name
};

}  // namespace berth::plugins
