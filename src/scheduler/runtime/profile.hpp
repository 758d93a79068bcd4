// A profile as a running set of plugins, and the running of it: extension point by extension point. Here
// every status gets the consequence and the text it has in kube-scheduler v1.37.1, and what plugins throw
// becomes a status.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/scheduler_config.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/runtime/metrics_recorder.hpp"
#include "scheduler/runtime/registry.hpp"
#include "scheduler/runtime/skipped_plugins.hpp"

namespace berth::runtime {

// A pod that was promised a node and is not there yet.
struct Nomination {
  cluster::Row row = cluster::kNoRow;
  const cluster::PodInfo* pod = nullptr;
};

// What PreFilter said of a pod as a whole.
struct PreFilterOutcome {
  // Rejected: status.plugin says by whom; not ok and not rejected: an error, text complete.
  framework::Status status;
  bool narrowed = false;
  std::vector<cluster::NodeNameId> nodes;  // narrowed: the names left
  std::vector<std::string> narrowing;        // plugins that narrowed, in order of the profile
  SkippedPlugins skipped_filters;
  SkippedPlugins skipped_extensions;
};

// The plugins before filters, or before scores, that need not be asked of another pod of a shape as long as
// no node changes, and those of them that had nothing to do with it.
struct ReusableResult {
  SkippedPlugins plugins;
  SkippedPlugins skipped;             // among the filters, or scores
  SkippedPlugins skipped_extensions;  // before filters
};

// What Permit said. Waits are there only with status Wait.
struct PermitOutcome {
  framework::Status status;
  std::vector<std::pair<std::string_view, Duration>> waits;  // by plugin
};

// What the PreBind plugins say they have to do: groups in order, the plugins of a group at the same time.
struct PreFlightOutcome {
  // Success: some have work; Skip: none has; else an error, text complete.
  framework::Status status;
  std::vector<std::vector<framework::PreBindPlugin*>> groups;
};

// Under this name extenders stand among the rejectors of a pod. They cannot say what would help, so every
// event may.
inline constexpr std::string_view kExtender = "Extender";

class Profile {
 public:
  struct WeightedScore {
    framework::ScorePlugin* plugin = nullptr;
    std::int64_t weight = 1;
  };

  // Builds the plugins. Errors are kube-scheduler's start-up texts. Without metrics_recorder nothing is measured.
  static Expected<std::unique_ptr<Profile>> Build(const config::Profile& config, const Registry& registry,
                                                  framework::Handle& handle,
                                                  std::unique_ptr<MetricsRecorder> metrics_recorder = nullptr);

  const std::string& name() const { return name_; }
  std::optional<std::int64_t> percentage_of_nodes_to_score() const { return percentage_; }
  std::span<framework::FilterPlugin* const> filters() const { return filters_; }
  std::span<const WeightedScore> scores() const { return scores_; }
  const framework::QueueSortPlugin& queue_sort() const { return *sort_; }
  struct PointPlugins {
    std::string_view point;                                          // "PreEnqueue"
    std::vector<std::pair<std::string_view, std::int64_t>> plugins;  // with weights; 0: not a score
  };
  // Who takes part at which extension point, in the order in which they are asked.
  std::vector<PointPlugins> ListPlugins() const;
  bool has_post_filters() const { return !post_filters_.empty(); }
  MetricsRecorder* metrics_recorder() const { return metrics_recorder_.get(); }
  // Extenders reject pods too: from then on the profile waits for every event.
  void AwaitForExtenders() { has_extenders_ = true; }

  // --- in the queue
  // -----------------------------------------------------------------------------------------------
  // The first plugin that holds the pod back, in profile order; Success if none does. The one that held it
  // back last time (`asked_first`, may be empty) is asked before the others.
  framework::Status RunPreEnqueue(const cluster::PodInfo& pod, std::string_view asked_first = "") const;
  bool Less(const framework::QueuedPod& a, const framework::QueuedPod& b) const { return sort_->Less(a, b); }
  // Does any plugin wait for such an event at all?
  bool IsRegistered(const framework::ClusterEvent& event) const;
  // Does one of these plugins wait for it?
  bool IsRegistered(const framework::ClusterEvent& event, std::span<const std::string> plugins) const;
  // The opinion of the plugins that rejected the pod; one of `pending` spares it the back-off.
  framework::Requeue EvaluateHint(const framework::ClusterEvent& event, const framework::EventObjects& objects,
                               const cluster::PodInfo& pod, std::span<const std::string> rejectors,
                               std::span<const std::string> pending) const;

  // --- the decision
  // -----------------------------------------------------------------------------------------------
  // Answers that stand, if any are known of the pod's shape, are not asked for again; they count as asked.
  PreFilterOutcome RunPreFilter(const framework::Attempt& attempt, const ReusableResult* reusable = nullptr) const;
  // Which of the answers stand. The pod was neither rejected nor narrowed.
  ReusableResult ReusablePreFilter(const cluster::PodInfo& pod, const PreFilterOutcome& outcome) const;
  // Rows of `candidates` that carry nominations are judged twice: with the nominated pods in place, and
  // without.
  void RunFilters(const framework::Attempt& attempt, cluster::NodeTable& table,
                  const PreFilterOutcome& pre_filter, std::span<const Nomination> nominations,
                  const RowSet& candidates, framework::FilterOutcome& out) const;
  // The filters from `first` on, about candidates without nominations; those before have let them pass.
  void RunFiltersFrom(std::size_t first, const framework::Attempt& attempt,
                      const PreFilterOutcome& pre_filter, const RowSet& candidates,
                      framework::FilterOutcome& out) const;
  // The same for a cluster that is only imagined: the extension point is not measured.
  void ImagineFilters(const framework::Attempt& attempt, cluster::NodeTable& table,
                      const PreFilterOutcome& pre_filter, std::span<const Nomination> nominations,
                      const RowSet& candidates, framework::FilterOutcome& out) const;
  // Do plugins with extensions take part?
  bool HasExtensions(const PreFilterOutcome& pre_filter) const;
  // Tell the plugins with extensions of a pod that is imagined on the row, or gone from it.
  framework::Status RunAddPod(const framework::Attempt& attempt, const PreFilterOutcome& pre_filter,
                              const cluster::PlacedPod& added, cluster::Row row) const;
  framework::Status RunRemovePod(const framework::Attempt& attempt, const PreFilterOutcome& pre_filter,
                                 const cluster::PlacedPod& removed, cluster::Row row) const;
  // The reasons are what the FailedScheduling text ends with.
  framework::PostFilterAnswer RunPostFilter(const framework::Attempt& attempt,
                                            const framework::FilterOutcome& verdicts,
                                            framework::WhatIf& what_if) const;
  // Fills one column per score plugin (in the order of scores()); `skipped` says which had nothing to say. Of
  // several nodes with invalid scores the first in `order` is reported.
  framework::Status RunScores(const framework::Attempt& attempt, const RowSet& feasible,
                              std::span<const cluster::Row> order,
                              std::vector<framework::ScoreColumn>& columns, SkippedPlugins& skipped) const;

  // The two halves of RunScores. First who has something to say:
  framework::Status RunPreScores(const framework::Attempt& attempt, const RowSet& feasible,
                                 SkippedPlugins& skipped, const ReusableResult* reusable = nullptr) const;
  ReusableResult ReusablePreScores(const cluster::PodInfo& pod, const SkippedPlugins& skipped) const;
  // Then one of them about some of the feasible rows, as it comes: neither normalised nor checked.
  framework::Status RunRawScore(std::size_t index, const framework::Attempt& attempt, const RowSet& rows,
                                framework::ScoreColumn& column) const;
  // --- the placement
  // -----------------------------------------------------------------------------------------------
  // A rejection carries the plugin's name, an error the complete text.
  framework::Status RunReserve(const framework::Placement& placement) const;
  void RunUnreserve(const framework::Placement& placement) const;
  PermitOutcome RunPermit(const framework::Placement& placement) const;
  PreFlightOutcome RunPreBindPreFlight(const framework::Placement& placement) const;
  // One plugin's; the answer's status is what the binding fails with.
  void StartPreBind(framework::PreBindPlugin& plugin, const framework::Placement& placement,
                    std::stop_token stop, framework::Answer answer) const;
  // The index-th bind plugin's; Skip means: the next one is to be asked, if there is one.
  void StartBind(std::size_t index, const framework::Placement& placement, framework::Answer answer) const;
  std::size_t bind_count() const { return binders_.size(); }
  void RunPostBind(const framework::Placement& placement) const;

 private:
  Profile() = default;
  struct Extension {
    framework::PreFilterExtensionsPlugin* plugin = nullptr;
    std::size_t filter = SIZE_MAX;  // the same plugin's index among the filters
  };
  struct Registered {
    const framework::Plugin* plugin = nullptr;
    std::vector<framework::EventRegistration> events;
  };
  class PointTimer;
  // How many pods (before filters and scores) or nodes each plugin has looked at; empty if nobody measures.
  struct Evaluations {
    std::vector<metrics::Counter*> pre_filter, filter, pre_score, score;  // by index of the plugin
  };

  template <class Call>
  auto Guarded(ExtensionPoint point, const framework::Plugin& plugin, Call&& call) const -> decltype(call());
  // About out.feasible, which rows that are rejected leave.
  void RunFilterPass(const framework::Attempt& attempt, const PreFilterOutcome& pre_filter,
                     framework::FilterOutcome& out, std::size_t first = 0) const;
  void RunNominatedPass(const framework::Attempt& attempt, cluster::NodeTable& table,
                        const PreFilterOutcome& pre_filter, std::span<const Nomination> nominations,
                        const RowSet& candidates, framework::FilterOutcome& out) const;
  void AskFilter(std::size_t index, const framework::Attempt& attempt, const RowSet& candidates) const;
  void TakeAnswer(std::size_t index, const framework::Attempt& attempt, RowSet& alive,
                  framework::FilterOutcome& out) const;
  framework::Status Normalize(std::size_t index, const framework::Attempt& attempt, const RowSet& feasible,
                              framework::ScoreColumn& column) const;
  framework::Status CheckRange(const RowSet& feasible, std::span<const cluster::Row> order,
                               std::span<framework::ScoreColumn> columns,
                               const SkippedPlugins& skipped) const;
  // Is this attempt one of those whose plugins are timed, of which none may be missing?
  bool AsksAll() const { return metrics_recorder_ != nullptr && metrics_recorder_->sampled(); }
  void CollectEvents();
  void FindPartners();
  void PrepareEvaluations();

  std::string name_;
  std::optional<std::int64_t> percentage_;
  std::unique_ptr<MetricsRecorder> metrics_recorder_;
  std::vector<std::unique_ptr<framework::Plugin>> plugins_;
  std::vector<const framework::Plugin*> foreign_;  // not Berth's own
  std::vector<framework::PreEnqueuePlugin*> pre_enqueue_;
  framework::QueueSortPlugin* sort_ = nullptr;
  std::vector<framework::PreFilterPlugin*> pre_filters_;
  std::vector<Extension> extensions_;
  std::vector<framework::FilterPlugin*> filters_;
  std::vector<framework::PostFilterPlugin*> post_filters_;
  std::vector<framework::PreScorePlugin*> pre_scores_;
  std::vector<WeightedScore> scores_;
  // The same plugin elsewhere, SIZE_MAX if it is not there: what a Skip takes out.
  std::vector<std::size_t> pre_filter_filter_, pre_filter_extension_, pre_score_score_;
  std::vector<framework::ReservePlugin*> reserves_;
  std::vector<framework::PermitPlugin*> permits_;
  std::vector<framework::PreBindPlugin*> pre_binds_;
  std::vector<framework::BindPlugin*> binders_;
  std::vector<framework::PostBindPlugin*> post_binds_;
  std::vector<Registered> events_;
  bool has_extenders_ = false;
  Evaluations evaluations_;
  mutable framework::Rejections answer_;  // lent to one filter after the other

  friend class ProfileBuilder;
};

}  // namespace berth::runtime
