// Elastic quotas: a guaranteed minimum, and a maximum that includes what others leave idle. Of namespaces, as
// in scheduler-plugins' CapacityScheduling (v0.33.5), or a tree of groups, as in Koordinator. Off by default.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "observability/metrics/registry.hpp"
#include "scheduler/framework/factory.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/framework/rejection_details.hpp"
#include "scheduler/plugins/capacity_scheduling/capacity_scheduling_args.hpp"
#include "scheduler/plugins/capacity_scheduling/quota_preemption.hpp"

namespace berth::plugins {

// PreFilter admits pods by the rules of the hierarchy (NamespaceRules, GroupRules). PostFilter evicts pods by
// QuotaPreemption; where DefaultPreemption is enabled too, the first of both that finds victims counts. The
// plugin reads ElasticQuotas of all API servers that have them. Differences from scheduler-plugins and
// Koordinator: docs/guide/quotas.md.
class CapacityScheduling final : public framework::PreFilterExtensionsPlugin,
                                 public framework::PostFilterPlugin,
                                 public framework::ReservePlugin,
                                 public framework::RejectionDetailsPlugin {
 public:
  static framework::PluginOrError Create(const framework::RawArgs& raw, framework::Handle& handle);
  CapacityScheduling(const CapacitySchedulingArgs& args, framework::Handle& handle);

  std::string_view Name() const override { return "CapacityScheduling"; }
  bool StateIsDerived() const override { return true; }
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
  std::vector<framework::EventRegistration> EventsToRegister() const override { return rules_->Events(); }
  // What is used of the exceeded limit, and of an exceeded sum of minimums the namespaces that borrow most.
  std::vector<framework::RejectionDetail> RejectionDetails(const framework::Attempt& attempt,
                                                           const RowSet& rejected) const override;

 private:
  framework::PostFilterResult Preempt(const framework::Attempt& attempt,
                                      const framework::FilterOutcome& verdicts,
                                      framework::PostFilterServices& services);

  framework::Handle& handle_;
  const std::unique_ptr<QuotaRules> rules_;
  DisruptionBudgets budgets_;
  QuotaPreemption preemption_;
  metrics::Counter* attempts_;  // null: no metrics are collected
  std::vector<cluster::Row> rows_;
};

}  // namespace berth::plugins
