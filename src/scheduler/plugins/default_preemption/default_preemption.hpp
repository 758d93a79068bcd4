// Selects pods of lower priority to evict if a pod fits on no node.
#pragma once

#include <memory>

#include "base/random.hpp"
#include "observability/metrics/registry.hpp"
#include "scheduler/framework/filter_outcome.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/plugins/default_preemption/dry_run.hpp"
#include "scheduler/plugins/default_preemption/group_preemption.hpp"
#include "scheduler/plugins/default_preemption/preemption_args.hpp"
#include "scheduler/plugins/default_preemption/preemption_steps.hpp"

namespace berth::plugins {

class DefaultPreemption final : public framework::PostFilterPlugin,
                                public framework::PodGroupPostFilterPlugin,
                                public framework::PreEnqueuePlugin {
 public:
  static framework::PluginOrError Create(const framework::RawArgs& args, framework::Handle& handle);
  DefaultPreemption(const DefaultPreemptionArgs& args, framework::Handle& handle,
                    DisruptionBudgets::Counting counting = DisruptionBudgets::Counting::kToFirstViolated);

  std::string_view Name() const override { return "DefaultPreemption"; }
  bool StateIsDerived() const override { return true; }
  framework::PostFilterResult PostFilter(const framework::Attempt& attempt,
                                         const framework::FilterOutcome& verdicts,
                                         framework::PostFilterServices& services) override;
  framework::GroupPostFilterResult PodGroupPostFilter(const framework::QueuedGroup& group,
                                                      framework::GroupPostFilterServices& services) override;
  // Gates a pod, or the members of a group, while its victims are being deleted.
  framework::Status PreEnqueue(const cluster::PodInfo& pod) const override;
  std::vector<framework::EventRegistration> EventsToRegister() const override;

 private:
  // The reason why the pod must not preempt; empty if it may.
  std::string_view Ineligible(const framework::Attempt& attempt, const framework::FilterOutcome& verdicts);
  framework::PostFilterResult Preempt(const framework::Attempt& attempt,
                                      const framework::FilterOutcome& verdicts,
                                      framework::PostFilterServices& services);

  const DefaultPreemptionArgs args_;
  framework::Handle& handle_;
  Importance importance_;
  DisruptionBudgets budgets_;
  VictimUnits units_;
  DryRun dry_run_;
  GroupPreemption group_preemption_;
  metrics::Counter* attempts_;  // null: no metrics are collected
  std::vector<cluster::Row> rows_;
};

}  // namespace berth::plugins
