// Elastic quotas of namespaces: a guaranteed minimum, and a maximum that includes what others leave idle.
// scheduler-plugins' CapacityScheduling (v0.33.5). Off by default.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "observability/metrics/registry.hpp"
#include "scheduler/framework/factory.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/framework/rejection_details.hpp"
#include "scheduler/plugins/capacity_scheduling/quota_preemption.hpp"

namespace berth::plugins {

// PreFilter rejects a pod if its namespace would use more than the maximum of its quota, or all namespaces
// with a quota more than all minimums together. Pods of namespaces without a quota pass. PostFilter evicts
// pods by the rules of QuotaPreemption; where DefaultPreemption is enabled too, the first of both that finds
// victims counts. The plugin reads ElasticQuotas of all API servers that have them; without the resource no
// namespace has a quota. Differences from scheduler-plugins: docs/guide/quotas.md.
class CapacityScheduling final : public framework::PreFilterExtensionsPlugin,
                                 public framework::PostFilterPlugin,
                                 public framework::ReservePlugin,
                                 public framework::RejectionDetailsPlugin {
 public:
  explicit CapacityScheduling(framework::Handle& handle);

  std::string_view Name() const override { return "CapacityScheduling"; }
  framework::PreFilterResult PreFilter(const framework::Attempt& attempt) const override;
  framework::Status AddPod(const framework::Attempt& attempt, const cluster::PlacedPod& added,
                           cluster::Row row) const override;
  framework::Status RemovePod(const framework::Attempt& attempt, const cluster::PlacedPod& removed,
                              cluster::Row row) const override;
  framework::PostFilterResult PostFilter(const framework::Attempt& attempt,
                                         const framework::FilterOutcome& verdicts,
                                         framework::PostFilterServices& services) override;
  // Assumed pods are on the node table, which the ledger follows: nothing is left to do. The extension point
  // is accepted because configurations of scheduler-plugins enable it.
  framework::Status Reserve(const framework::Placement&) override { return {}; }
  void Unreserve(const framework::Placement&) override {}
  std::vector<framework::EventRegistration> EventsToRegister() const override;
  // What is used of the exceeded limit, and of an exceeded sum of minimums the namespaces that borrow most.
  std::vector<framework::RejectionDetail> RejectionDetails(const framework::Attempt& attempt,
                                                           const RowSet& rejected) const override;

 private:
  void AddNominatedPods(const framework::Attempt& attempt, QuotaTrial& trial) const;
  framework::PostFilterResult Preempt(const framework::Attempt& attempt,
                                      const framework::FilterOutcome& verdicts,
                                      framework::PostFilterServices& services);
  void CountReclaimed(const framework::Attempt& attempt, const framework::PostFilterResult& result);

  framework::Handle& handle_;
  const std::shared_ptr<QuotaLedger> shared_ledger_;
  QuotaLedger& ledger_;
  const framework::StateKey<QuotaTrial> trial_;
  DisruptionBudgets budgets_;
  QuotaPreemption preemption_;
  metrics::Counter* attempts_;  // null: no metrics are collected
  std::vector<cluster::Row> rows_;
};

}  // namespace berth::plugins
