// PodDisruptionBudgets in preemption: victims without a violated budget are preferred.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/text_map.hpp"
#include "kubernetes/api/label_selector.hpp"
#include "scheduler/cluster/cluster_objects.hpp"
#include "scheduler/cluster/selector_index.hpp"
#include "scheduler/plugins/default_preemption/importance.hpp"

namespace berth::plugins {

// A pod is compared with the budgets of its namespace that require one of its labels, or no label with a
// certain value. When a selector changes, those of its namespace are compiled again. Scheduler loop only.
class DisruptionBudgets {
 public:
  // Of a pod that several budgets match: which of them count its eviction.
  enum class Counting : std::uint8_t {
    kToFirstViolated,  // those up to the first one that it violates: kube-scheduler
    kAll,              // scheduler-plugins
  };

  explicit DisruptionBudgets(cluster::ClusterObjects& objects,  // must outlive this object
                             Counting counting = Counting::kToFirstViolated);
  DisruptionBudgets(const DisruptionBudgets&) = delete;
  DisruptionBudgets& operator=(const DisruptionBudgets&) = delete;

  // Starts to count evictions anew.
  void Begin();
  // Whether the eviction of this pod, after the earlier ones since Begin, violates a budget.
  bool Violates(const cluster::PlacedPod& pod);
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
  struct Namespace {
    std::vector<Budget> budgets;                  // with a valid selector, in the order of their names
    cluster::SelectorIndex<std::uint32_t> index;  // in `budgets`
  };
  void OnChange(const ports::Change<api::PodDisruptionBudget>& change);
  void Compile(const std::string& ns);

  const cluster::ObjectTable<api::PodDisruptionBudget>& table_;
  const Counting counting_;
  std::uint64_t count_ = 0;  // number of calls of Begin
  TextMap<Namespace> by_namespace_;
  FlatTextSet stale_;                      // namespaces to compile before the next count
  std::vector<std::uint32_t> candidates_;  // reused
  const std::shared_ptr<const void> listening_ = std::make_shared<const char>();
};

}  // namespace berth::plugins
