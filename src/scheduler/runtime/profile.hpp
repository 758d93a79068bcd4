// A profile: a set of plugins, and the execution of each extension point. Every status has the consequence
// and the error text that it has in kube-scheduler v1.37.1; exceptions of plugins become error statuses.
// Scheduler loop only.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/scheduler_config.hpp"
#include "scheduler/framework/eviction_protection.hpp"
#include "scheduler/framework/filter_outcome.hpp"
#include "scheduler/framework/group_plugin.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/nominations.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/framework/queued_pod.hpp"
#include "scheduler/framework/requeue.hpp"
#include "scheduler/framework/saved_state.hpp"
#include "scheduler/runtime/metrics_recorder.hpp"
#include "scheduler/runtime/skipped_plugins.hpp"

namespace berth::runtime {

class Registry;

using framework::Nomination;

// The combined result of the PreFilter plugins.
struct PreFilterOutcome {
  // Rejected: status.plugin is the name of the plugin. Neither ok nor rejected: an error with the complete
  // text.
  framework::Status status;
  // Whether a plugin limited the nodes.
  bool narrowed = false;
  std::vector<cluster::NodeNameId> nodes;  // if narrowed: the names that remain
  std::vector<std::string> narrowing;      // plugins that limited the nodes, in profile order
  SkippedPlugins skipped_filters;
  SkippedPlugins skipped_extensions;
};

// The PreFilter or PreScore plugins whose results stay valid for other pods of the shape while no node
// changes, and those of them that returned Skip.
struct ReusableResult {
  // The first plugin from `index` on that must be called. Null: nothing is reusable.
  static std::size_t NextCalled(const ReusableResult* reusable, std::size_t index) {
    return reusable == nullptr ? index : reusable->plugins.NextMissing(index);
  }
  SkippedPlugins plugins;
  SkippedPlugins skipped;             // indexes of filters or scores
  SkippedPlugins skipped_extensions;  // PreFilter only
};

// The combined result of the Permit plugins.
struct PermitOutcome {
  framework::Status status;
  std::vector<std::pair<std::string_view, Duration>> waits;  // by plugin; only with status Wait
};

// The combined result of PreBindPreFlight. Groups run one after the other; the plugins of a group run in
// parallel.
struct PreFlightOutcome {
  // Success: some plugins have work; Skip: none has; otherwise an error with the complete text.
  framework::Status status;
  std::vector<std::vector<framework::PreBindPlugin*>> groups;
};

// The name of extenders in a pod's list of rejectors. Extenders register no events, so every event requeues
// the pod.
inline constexpr std::string_view kExtender = "Extender";

class Profile {
 public:
  struct WeightedScore {
    framework::ScorePlugin* plugin = nullptr;
    std::int64_t weight = 1;
  };

  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  // Creates the plugins. Error texts are kube-scheduler's start-up errors. Without `metrics_recorder` nothing
  // is measured.
  static Expected<std::unique_ptr<Profile>> Build(
      const config::Profile& config, const Registry& registry, framework::Handle& handle,
      std::unique_ptr<MetricsRecorder> metrics_recorder = nullptr);

  // Valid as long as the handle.
  const std::string& name() const { return *name_; }
  std::optional<std::int64_t> percentage_of_nodes_to_score() const { return percentage_; }
  std::span<framework::PreFilterPlugin* const> pre_filters() const { return pre_filters_; }
  std::span<framework::FilterPlugin* const> filters() const { return filters_; }
  std::span<const WeightedScore> scores() const { return scores_; }
  // Indices of scores() in the order of the plugins' names.
  std::span<const std::size_t> scores_by_name() const { return scores_by_name_; }
  framework::QueueSortPlugin& queue_sort() const { return *sort_; }
  struct PointPlugins {
    std::string_view point;                                          // "PreEnqueue"
    std::vector<std::pair<std::string_view, std::int64_t>> plugins;  // with weights; 0: not a score plugin
  };
  // The plugins of each extension point, in the order in which they are called.
  std::vector<PointPlugins> ListPlugins() const;
  // Whether each plugin's state is derived from the objects or can be saved.
  bool IsSavable() const;
  // Number of timers that the saved states contain.
  std::size_t SavedTimers() const;
  // Appends the states that are not derived, in the profile's order. Errors name the plugin.
  Expected<void> SaveTo(std::vector<framework::CopiedState>& states) const;
  // Restores the states that SaveTo appended and removes them from the beginning of `states`. Errors name the
  // plugin.
  Expected<void> RestoreFrom(std::span<const framework::SavedState>& states) const;
  bool has_post_filters() const { return !post_filters_.empty(); }
  // The plugins that protect pods from preemption.
  std::span<framework::EvictionProtectionPlugin* const> eviction_protections() const {
    return eviction_protections_;
  }
  MetricsRecorder* metrics_recorder() const { return metrics_recorder_.get(); }
  // Extenders can reject pods too: after this call, the profile registers for every event.
  void RegisterForExtenders() { has_extenders_ = true; }

  // --- queue ---
  struct Registered {
    const framework::Plugin* plugin = nullptr;
    std::vector<framework::EventRegistration> events;
  };
  // The plugins that can reject pods, with the events for which they are registered.
  std::span<const Registered> registered() const { return events_; }
  // Returns the status of the first plugin that rejects the pod, in profile order; Success if there is none.
  // The plugin that rejected it last time (`call_first`, may be empty) is called before the others.
  framework::Status RunPreEnqueue(const cluster::PodInfo& pod, std::string_view call_first = "") const;
  bool Less(const framework::QueuedEntity& a, const framework::QueuedEntity& b) const {
    return sort_->Less(a, b);
  }
  // Whether any plugin is registered for such an event.
  bool IsRegistered(const framework::ClusterEvent& event) const;
  // Whether one of these plugins is registered for it.
  bool IsRegistered(const framework::ClusterEvent& event, std::span<const std::string> plugins) const;
  // The combined hint of the plugins that rejected the pod. If the hint of one of `pending` is kQueue, the
  // result is kImmediately. Without objects no hint is called, and plugins that are registered have kQueue.
  framework::Requeue EvaluateHint(const framework::ClusterEvent& event,
                                  const framework::EventObjects& objects, const cluster::PodInfo& pod,
                                  std::span<const std::string> rejectors,
                                  std::span<const std::string> pending) const;

  // --- scheduling ---
  // Plugins whose results in `reusable` are reusable are not called; metrics count them as called.
  PreFilterOutcome RunPreFilter(const framework::Attempt& attempt,
                                const ReusableResult* reusable = nullptr) const;
  // The reusable part of a result. Requires that the pod was neither rejected nor limited to some nodes.
  ReusableResult ReusablePreFilter(const cluster::PodInfo& pod, const PreFilterOutcome& outcome) const;
  // Evaluates rows of `candidates` with nominated pods twice: with these pods added, and without.
  // `nominations`: to existing nodes, in ascending order of rows.
  void RunFilters(const framework::Attempt& attempt, cluster::NodeTable& table,
                  const PreFilterOutcome& pre_filter, std::span<const Nomination> nominations,
                  const RowSet& candidates, framework::FilterOutcome& out) const;
  // Runs the filters from index `first` on, for candidates without nominated pods that passed the filters
  // before.
  void RunFiltersFrom(std::size_t first, const framework::Attempt& attempt,
                      const PreFilterOutcome& pre_filter, const RowSet& candidates,
                      framework::FilterOutcome& out) const;
  // As RunFilters for a dry run: the extension point's duration is not measured.
  void RunFiltersForDryRun(const framework::Attempt& attempt, cluster::NodeTable& table,
                           const PreFilterOutcome& pre_filter, std::span<const Nomination> nominations,
                           const RowSet& candidates, framework::FilterOutcome& out) const;
  // Whether plugins with PreFilter extensions take part.
  bool HasExtensions(const PreFilterOutcome& pre_filter) const {
    return HasExtensionsBeyond(pre_filter.skipped_extensions);
  }
  // The same if these are the plugins that returned Skip.
  bool HasExtensionsBeyond(const SkippedPlugins& skipped) const;
  // Calls the PreFilter extensions for a pod that a dry run adds to the row or removes from it.
  framework::Status RunAddPod(const framework::Attempt& attempt, const PreFilterOutcome& pre_filter,
                              const cluster::PlacedPod& added, cluster::Row row) const;
  framework::Status RunRemovePod(const framework::Attempt& attempt, const PreFilterOutcome& pre_filter,
                                 const cluster::PlacedPod& removed, cluster::Row row) const;
  // The status' reasons are the last part of the FailedScheduling message.
  framework::PostFilterResult RunPostFilter(const framework::Attempt& attempt,
                                            const framework::FilterOutcome& verdicts,
                                            framework::PostFilterServices& services) const;
  // Fills one column per score plugin, in the order of scores(); `skipped` are the plugins without scores. If
  // several nodes have invalid scores, the error is that of the first in `order`.
  framework::Status RunScores(const framework::Attempt& attempt, const RowSet& feasible,
                              std::span<const cluster::Row> order,
                              std::vector<framework::ScoreColumn>& columns, SkippedPlugins& skipped) const;

  // The two parts of RunScores. First, PreScore, which determines `skipped`:
  framework::Status RunPreScores(const framework::Attempt& attempt, const RowSet& feasible,
                                 SkippedPlugins& skipped, const ReusableResult* reusable = nullptr) const;
  ReusableResult ReusablePreScores(const cluster::PodInfo& pod, const SkippedPlugins& skipped) const;
  // Second, the raw scores of one plugin for some of the feasible rows, neither normalized nor checked.
  framework::Status RunRawScore(std::size_t index, const framework::Attempt& attempt, const RowSet& rows,
                                framework::ScoreColumn& column) const;
  // --- pod groups ---
  // Wait if a plugin returned it and none rejected the group. A rejection has the plugin's text, an error the
  // complete one.
  framework::Status RunPlacementFeasible(const api::PodGroup& group,
                                         const framework::PlacementProgress& progress) const;
  // Without a plugin one placement with all rows of `among`. Unschedulable if there is none.
  framework::GeneratedPlacements RunPlacementGenerate(const api::PodGroup& group,
                                                      const cluster::NodeTable& nodes,
                                                      const RowSet& among) const;
  // The weighted sums by placement. An error has the complete text.
  Expected<std::vector<std::int64_t>> RunPlacementScores(
      const api::PodGroup& group, const cluster::NodeTable& nodes,
      std::span<const framework::FeasiblePlacement> placements) const;
  // The status' reasons are the last part of the group's message.
  framework::GroupPostFilterResult RunPodGroupPostFilter(const framework::QueuedGroup& group,
                                                         framework::GroupPostFilterServices& services) const;
  // Reports to the plugins that protect pods that the scheduler begins to evict these.
  void OnEviction(const framework::Preemptor& preemptor, std::span<const api::PodPtr> victims) const;
  // --- placement ---
  // A rejection contains the plugin's name, an error the complete text.
  framework::Status RunReserve(const framework::Placement& placement) const;
  void RunUnreserve(const framework::Placement& placement) const;
  PermitOutcome RunPermit(const framework::Placement& placement) const;
  PreFlightOutcome RunPreBindPreFlight(const framework::Placement& placement) const;
  // Starts one plugin's PreBind. A status other than Success is the error of the binding.
  void StartPreBind(framework::PreBindPlugin& plugin, const framework::Placement& placement,
                    std::stop_token stop, framework::StatusCallback answer) const;
  // Starts the bind plugin at `index`. After Skip, the next one must be started, if there is one.
  void StartBind(std::size_t index, const framework::Placement& placement,
                 framework::StatusCallback answer) const;
  std::size_t bind_count() const { return binders_.size(); }
  void RunPostBind(const framework::Placement& placement) const;

 private:
  Profile() = default;
  struct Extension {
    framework::PreFilterExtensionsPlugin* plugin = nullptr;
    std::size_t filter = SIZE_MAX;  // index of the same plugin in filters_
  };
  class PointTimer;
  // Number of pods (PreFilter, PreScore) or nodes that each plugin evaluated; empty without metrics.
  struct Evaluations {
    std::vector<metrics::Counter*> pre_filter, filter, pre_score, score;  // by index of the plugin
  };
  // Counts the first `count` plugins as called: also those with a reusable result, because kube-scheduler
  // calls them.
  static void CountCalled(std::span<metrics::Counter* const> plugins, std::size_t count) {
    for (std::size_t i = 0; i < std::min(count, plugins.size()); ++i) plugins[i]->Add();
  }

  template <class Call>
  auto Guarded(ExtensionPoint point, const framework::Plugin& plugin, Call&& call) const -> decltype(call());
  // Evaluates out.feasible and removes rejected rows from it.
  void RunFilterPass(const framework::Attempt& attempt, const PreFilterOutcome& pre_filter,
                     framework::FilterOutcome& out, std::size_t first = 0) const;
  void RunNominatedPass(const framework::Attempt& attempt, cluster::NodeTable& table,
                        const PreFilterOutcome& pre_filter, std::span<const Nomination> nominations,
                        const RowSet& candidates, framework::FilterOutcome& out) const;
  void CallFilter(std::size_t index, const framework::Attempt& attempt, const RowSet& candidates,
                  framework::Rejections& out) const;
  void ApplyRejections(std::size_t index, const framework::Attempt& attempt, RowSet& alive,
                       framework::FilterOutcome& out) const;
  framework::Status Normalize(std::size_t index, const framework::Attempt& attempt, const RowSet& feasible,
                              framework::ScoreColumn& column) const;
  framework::Status CheckRange(const RowSet& feasible, std::span<const cluster::Row> order,
                               std::span<framework::ScoreColumn> columns,
                               const SkippedPlugins& skipped) const;
  // Whether this attempt's plugin calls are timed; then all plugins must be called.
  bool CallsAllPlugins() const { return metrics_recorder_ != nullptr && metrics_recorder_->sampled(); }
  void CollectEvents();
  void LinkPlugins();
  void PrepareEvaluations();

  const std::string* name_ = nullptr;  // in the handle
  std::optional<std::int64_t> percentage_;
  std::unique_ptr<MetricsRecorder> metrics_recorder_;
  std::vector<std::unique_ptr<framework::Plugin>> plugins_;
  std::vector<const framework::Plugin*> foreign_;  // not built into Berth
  std::vector<framework::PreEnqueuePlugin*> pre_enqueue_;
  framework::QueueSortPlugin* sort_ = nullptr;
  std::vector<framework::PreFilterPlugin*> pre_filters_;
  std::vector<Extension> extensions_;
  std::vector<framework::FilterPlugin*> filters_;
  std::vector<framework::PostFilterPlugin*> post_filters_;
  std::vector<framework::PreScorePlugin*> pre_scores_;
  std::vector<WeightedScore> scores_;
  std::vector<std::size_t> scores_by_name_;
  // Index of the same plugin at the other extension point, SIZE_MAX if absent: what Skip disables.
  std::vector<std::size_t> pre_filter_filter_, pre_filter_extension_, pre_score_score_;
  std::vector<framework::PlacementFeasiblePlugin*> placement_feasible_;
  std::vector<framework::PlacementGeneratePlugin*> placement_generate_;
  struct WeightedPlacementScore {
    framework::PlacementScorePlugin* plugin = nullptr;
    std::int64_t weight = 1;
  };
  std::vector<WeightedPlacementScore> placement_scores_;
  std::vector<framework::PodGroupPostFilterPlugin*> group_post_filters_;
  std::vector<framework::EvictionProtectionPlugin*> eviction_protections_;
  std::vector<framework::ReservePlugin*> reserves_;
  std::vector<framework::PermitPlugin*> permits_;
  std::vector<framework::PreBindPlugin*> pre_binds_;
  std::vector<framework::BindPlugin*> binders_;
  std::vector<framework::PostBindPlugin*> post_binds_;
  std::vector<Registered> events_;
  bool has_extenders_ = false;
  Evaluations evaluations_;

  friend class ProfileBuilder;
};

}  // namespace berth::runtime
