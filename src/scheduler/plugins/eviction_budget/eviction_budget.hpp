// Limits the evictions by preemption. Off by default.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_map.hpp"
#include "observability/metrics/registry.hpp"
#include "scheduler/cluster/pod_observer.hpp"
#include "scheduler/framework/eviction_protection.hpp"
#include "scheduler/framework/factory.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/saved_state.hpp"
#include "scheduler/plugins/eviction_budget/eviction_budget_args.hpp"
#include "scheduler/plugins/eviction_budget/eviction_history.hpp"
#include "scheduler/plugins/eviction_budget/paused_gauge.hpp"
#include "scheduler/plugins/eviction_budget/preemption_loops.hpp"
#include "scheduler/plugins/loop_task.hpp"
#include "scheduler/plugins/retry_time.hpp"

namespace berth::plugins {

// A pod that has run for less than minRunSeconds is not evicted, and no more pods of a namespace within a
// period than its budget has. Preemptors of all profiles count, and other schedulers as far as terminating
// pods show it (condition DisruptionTarget with the reason PreemptionByScheduler). Terminating pods and those
// that are not bound yet may always be evicted, and do not count: they end anyway, or have not run. Rejected
// pods are retried when a pod is old enough or the budget allows an eviction again. A reload of the
// configuration keeps the evictions while the profile has the plugin; a restart keeps only those that
// terminating pods show.
//
// With `loops`, which also count pods that are not bound yet, an eviction that completes a loop
// (PreemptionLoops) pauses the victim's workload: no pod of it is evicted, and its pods do not evict those of
// the workloads that evicted it, until the pause has passed. The preemptor gets an event. Profiles with the
// same `loops` share the counts, so that each loop is reported once; a reload that changes `loops` begins
// anew. A replica reports loops from its first placement or eviction on: one in stand-by only follows them.
class EvictionBudget final : public framework::EvictionProtectionPlugin,
                             public framework::SavedStatePlugin,
                             public cluster::PodObserver {
 public:
  static framework::PluginOrError Create(const framework::RawArgs& raw, framework::Handle& handle);
  // `profile`: the schedulerName.
  EvictionBudget(const EvictionBudgetArgs& args, const std::string& profile, framework::Handle& handle);
  ~EvictionBudget() override;
  EvictionBudget(const EvictionBudget&) = delete;
  EvictionBudget& operator=(const EvictionBudget&) = delete;

  std::string_view Name() const override { return "EvictionBudget"; }
  std::vector<framework::EventRegistration> EventsToRegister() const override { return retry_.Events(); }
  framework::Status MayEvict(const framework::Preemptor& preemptor, const api::Pod& victim) override;
  framework::Status MayEvictTogether(const framework::Preemptor& preemptor,
                                     std::span<const api::Pod* const> victims) override;
  void OnEviction(const framework::Preemptor& preemptor, std::span<const api::PodPtr> victims) override;

  Expected<framework::StateEncoder> SaveState() override;
  Expected<void> RestoreState(std::string_view text) override;
  std::size_t SavedTimers() const override;

  void OnPodAdded(cluster::Row row, const cluster::PlacedPod& pod) override;
  void OnPodRemoved(cluster::Row, const cluster::PlacedPod&) override {}

 private:
  // Shared with the instance that a reload replaces.
  struct State {
    EvictionHistory history;
    std::shared_ptr<RetryTime::State> retry = std::make_shared<RetryTime::State>();
  };
  // Shared by all profiles, like the loops: any of them may be the one whose call completes a loop.
  struct Replica {
    bool decides = false;  // it has placed or evicted a pod
  };
  struct Saved {
    EvictionHistory::Saved history;
    RetryTime::Saved retry;
    std::optional<PreemptionLoops::Saved> loops;
    std::optional<MonoTime> update_paused;  // when it is due
    bool decides = false;
    static void VisitFields(auto& self, auto&& visit) {
      visit("history", self.history);
      visit("retry", self.retry);
      visit("loops", self.loops);
      visit("updatePaused", self.update_paused);
      visit("decides", self.decides);
    }
  };
  void CreateMetrics(metrics::Registry& registry);
  // nullopt: the namespace has no budget.
  std::optional<EvictionLimit> LimitOf(std::string_view ns) const;
  framework::Status CheckRunTime(const api::Pod& victim);
  // Whether `more` pods of the namespace may be evicted.
  framework::Status CheckBudget(std::string_view ns, std::size_t more);
  void Record(const api::Pod& pod, std::int64_t at);
  // The loops of these arguments, and what they do.
  struct Loops {
    LoopLimit limit;
    framework::Status paused_victim, paused_preemptor;
    std::shared_ptr<PreemptionLoops> known;
  };
  static std::optional<Loops> LoopsOf(const EvictionBudgetArgs& args, framework::Handle& handle);
  framework::Status CheckLoop(const framework::Preemptor& preemptor, const api::Pod& victim);
  // `pod`: gets the event.
  void RecordLoop(const api::PodPtr& pod, const api::Pod& victim, PreemptionLoops::Evictor by,
                  std::int64_t at);
  void Report(const api::PodPtr& pod, const api::Pod& victim, const PreemptionLoops::Loop& loop);
  void UpdatePaused();
  std::int64_t Now() const { return UnixSeconds(handle_.loop.WallNow()); }

  // The last refusal: victims of a namespace are often refused one after the other, with the same text.
  struct Refusal {
    std::string ns;
    std::size_t used = 0;
    framework::Status status;
  };
  framework::Status RefusalOf(std::string_view ns, std::size_t used, const EvictionLimit& limit);

  const std::string profile_;
  const std::int64_t min_run_;  // seconds
  const framework::Status too_young_status_;
  TextMap<EvictionLimit> limits_;
  std::optional<EvictionLimit> others_;
  const std::optional<Loops> loops_;  // nullopt: loops are not detected
  framework::Handle& handle_;
  const std::shared_ptr<State> state_;
  const std::shared_ptr<Replica> replica_;
  Refusal last_refusal_;
  RetryTime retry_;
  // Null: no metrics are collected.
  metrics::Counter* too_young_ = nullptr;
  metrics::Counter* over_budget_ = nullptr;
  metrics::Counter* in_loop_ = nullptr;
  metrics::Counter* loops_found_ = nullptr;
  std::shared_ptr<PausedGauge> paused_;
  LoopTask update_paused_{handle_.loop, [this] { UpdatePaused(); }};
};

}  // namespace berth::plugins
