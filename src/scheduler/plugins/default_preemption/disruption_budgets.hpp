// PodDisruptionBudgets in preemption: victims without a violated budget are preferred.
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

// Selectors are compiled when a budget changes. Scheduler loop only.
class DisruptionBudgets {
 public:
  // Of a pod that several budgets match: which of them count its eviction.
  enum class Counting : std::uint8_t {
    kToFirstViolated,  // those up to the first one that it violates: kube-scheduler
    kAll,              // scheduler-plugins
  };

  explicit DisruptionBudgets(const cluster::ClusterObjects& objects,  // must outlive this object
                             Counting counting = Counting::kToFirstViolated)
      : table_(objects.Of<api::PodDisruptionBudget>()), counting_(counting) {}

  // Starts to count evictions anew.
  void Begin();
  // Whether the eviction of this pod, after the earlier ones since Begin, violates a budget.
  bool Violates(const api::Pod& pod);
  // Splits the pods (by descending importance) by whether their eviction, one after the other, violates a
  // budget: their indexes are appended to `violating` or `harmless`.
  void Split(std::span<const Importance::Entry> pods, std::vector<std::uint32_t>& violating,
             std::vector<std::uint32_t>& harmless);

 private:
  struct Budget {
    api::ParsedSelector selector;
    std::shared_ptr<const api::PodDisruptionBudget> object;
    std::int64_t left = 0;    // remaining disruptions since Begin
    std::uint64_t count = 0;  // number of the Begin that `left` belongs to
  };
  // No effect if no budget has changed.
  void Compile();

  const cluster::ObjectTable<api::PodDisruptionBudget>& table_;
  const Counting counting_;
  std::uint64_t version_ = 0;  // version of the table that was compiled
  std::uint64_t count_ = 0;    // number of calls of Begin
  // by namespace, in the order of budget names
  std::map<std::string, std::vector<Budget>, std::less<>> by_namespace_;
};

}  // namespace berth::plugins
