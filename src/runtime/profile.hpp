// A profile as a running set of plugins, and the running of it: extension point by extension point.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/scheduler_config.hpp"
#include "framework/plugin.hpp"
#include "runtime/registry.hpp"

namespace berth::runtime {

// A pod that was promised a node and is not there yet.
struct Nomination {
  framework::Row row = framework::kNoRow;
  const framework::PodInfo* pod = nullptr;
};

// What PreFilter said of a pod as a whole.
struct PreFilterOutcome {
  framework::Status
      status;  // rejected: status.plugin says by whom; not ok and not rejected: an error, text complete
  bool narrowed = false;
  std::vector<framework::NodeNameId> nodes;  // narrowed: the names left
  std::vector<std::string> narrowing;        // plugins that narrowed, in order of the profile
  std::vector<bool> skipped_filters;         // by index of filter
};

// What the filters said, over all candidates. Kept by the caller and reused from attempt to attempt.
struct FilterOutcome {
  struct Rejection {
    std::size_t plugin = 0;  // index of filter
    framework::ReasonId reason;
    RowSet rows;
  };
  std::vector<Rejection> rejections;  // the first `used` are valid
  std::size_t used = 0;
  RowSet unresolvable;
  RowSet feasible;
  std::vector<std::pair<framework::Row, framework::Status>> errors;

  void Reset(const RowSet& candidates);
  std::span<const Rejection> all() const { return {rejections.data(), used}; }
};

class Profile {
 public:
  struct WeightedScore {
    framework::ScorePlugin* plugin = nullptr;
    std::int64_t weight = 1;
  };

  // Builds the plugins. Errors are kube-scheduler's start-up texts. `notes` receives what should be in the
  // log.
  static Expected<std::unique_ptr<Profile>> Build(const config::Profile& config, const Registry& registry,
                                                  framework::Handle& handle, std::vector<std::string>& notes);

  const std::string& name() const { return name_; }
  std::optional<std::int64_t> percentage_of_nodes_to_score() const { return percentage_; }

  // The first plugin that holds the pod back, in profile order; Success if none does.
  framework::Status RunPreEnqueue(const api::Pod& pod) const;
  bool Less(const framework::QueuedPod& a, const framework::QueuedPod& b) const { return sort_->Less(a, b); }
  PreFilterOutcome RunPreFilter(const framework::Attempt& attempt) const;
  // Rows of `candidates` that carry nominations are judged twice: with the nominated pods in place, and
  // without.
  void RunFilters(const framework::Attempt& attempt, framework::NodeTable& table,
                  const PreFilterOutcome& pre_filter, std::span<const Nomination> nominations,
                  const RowSet& candidates, FilterOutcome& out) const;
  // Fills one column per score plugin (in the order of scores()); `skipped` says which had nothing to say. Of
  // several nodes with invalid scores the first in `order` is reported.
  framework::Status RunScores(const framework::Attempt& attempt, const RowSet& feasible,
                              std::span<const framework::Row> order,
                              std::vector<framework::ScoreColumn>& columns, std::vector<bool>& skipped) const;
  // Asks the bind plugins in order until one does not skip. `done` is called once, from any thread; its
  // status carries the plugin's name and kube-scheduler's error text.
  void RunBind(const framework::PodInfo& pod, const std::string& node,
               framework::BindPlugin::Done done) const;

  std::span<framework::FilterPlugin* const> filters() const { return filters_; }
  std::span<const WeightedScore> scores() const { return scores_; }
  // Does any of these plugins hope for something from the event?
  bool Concerns(const framework::ClusterEvent& event, std::span<const std::string> plugins) const;

 private:
  Profile() = default;
  struct Registered {
    std::string plugin;
    std::vector<framework::ClusterEvent> events;
  };
  void RunFilterPass(const framework::Attempt& attempt, const PreFilterOutcome& pre_filter,
                     const RowSet& candidates, FilterOutcome& out) const;
  framework::Status CheckRange(const RowSet& feasible, std::span<const framework::Row> order,
                               std::span<const framework::ScoreColumn> columns,
                               const std::vector<bool>& skipped) const;
  void CollectEvents();

  std::string name_;
  std::optional<std::int64_t> percentage_;
  std::vector<std::unique_ptr<framework::Plugin>> plugins_;
  std::vector<framework::PreEnqueuePlugin*> pre_enqueue_;
  framework::QueueSortPlugin* sort_ = nullptr;
  std::vector<framework::PreFilterPlugin*> pre_filters_;
  std::vector<framework::FilterPlugin*> filters_;
  std::vector<framework::PreScorePlugin*> pre_scores_;
  std::vector<WeightedScore> scores_;
  std::vector<framework::BindPlugin*> binders_;
  std::vector<Registered> events_;
  mutable framework::Rejections answer_;  // lent to one filter after the other

  friend class ProfileBuilder;
};

}  // namespace berth::runtime
