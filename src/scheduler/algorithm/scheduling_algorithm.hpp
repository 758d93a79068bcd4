// The scheduling algorithm: selects a node for a pod and records the reasons against all others. Reads the
// cluster and writes only its own record.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "scheduler/algorithm/totals.hpp"
#include "scheduler/equivalence_cache/equivalence_cache.hpp"
#include "scheduler/extenders/extenders.hpp"
#include "scheduler/framework/filter_outcome.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/record/attempt_record.hpp"
#include "scheduler/runtime/profile.hpp"

namespace berth::algorithm {

enum class TieBreak { kRandom, kFirstByName };

struct AlgorithmOptions {
  // Percentage of nodes among which feasible nodes are searched; 0 and 100: all. Profiles may override it.
  std::int64_t percentage_of_nodes_to_score = 0;
  bool sample = true;     // false: evaluate all nodes, whatever the percentages
  bool adaptive = false;  // 0 means kube-scheduler's adaptive share, which decreases with cluster size
  TieBreak tie_break = TieBreak::kRandom;
  bool explanations = false;  // also record the components of scores and the details of rejections
  // Size limit of the equivalence cache; 0: disabled.
  std::size_t equivalence_cache_bytes = 64u << 20;
  std::uint64_t seed = 1;
};

// Pods to evict so that a pod fits on the node.
struct Preemption {
  std::string plugin;  // that selected them
  std::string node;
  std::vector<api::PodPtr> victims;  // as in framework::Eviction
  std::int64_t violations = 0;       // as in framework::Eviction
};

struct ScheduleResult {
  std::shared_ptr<record::AttemptRecord> record;  // record->result is the outcome
  cluster::Row row = cluster::kNoRow;             // of the selected node
  framework::CycleState state;                    // data of the plugins
  // plugins whose events may requeue the pod; empty after errors
  std::vector<std::string> rejectors;
  std::vector<std::string> pending;  // those that returned Pending
  // After a failure: the node to nominate the pod to. nullopt: unchanged; empty: cleared.
  std::optional<std::string> nominate;
  std::optional<Preemption> preemption;  // after a failure
  // The plugins that returned Skip at PreFilter, see PreFilterOutcome.
  runtime::SkippedPlugins skipped_filters;
  runtime::SkippedPlugins skipped_extensions;
  bool abandoned = false;  // the wait for an extender was cancelled; there is no result
};

// The state of the cluster that a decision reads. Node names are shared with the records.
struct ClusterView {
  cluster::NodeTable& nodes;  // not const: nominated pods are overlaid during Filter
  std::span<const cluster::Row> visiting_order;
  std::shared_ptr<const record::NodeNames> names;
};

// Whether the record of a decision contains the scores of all feasible nodes; they are most of its size.
enum class RecordedScores : std::uint8_t { kAll, kNone };

// One decision on its way through the steps of the algorithm.
struct SchedulingContext {
  // Results of all nodes; buffers that the next decision reuses.
  struct Buffers {
    std::vector<runtime::Nomination> nominations;
    framework::FilterOutcome verdicts;
    std::vector<framework::ScoreColumn> columns;  // by index in Profile::scores()
    runtime::SkippedPlugins skipped;
    std::vector<WeightedScores> parts;  // the columns that affect the choice
    std::vector<std::uint16_t> light_totals;
    std::vector<std::int64_t> totals;
    framework::ScratchPool scratch;
  };

  SchedulingContext(const cluster::PodInfo& pod, const runtime::Profile& profile, const ClusterView& cluster,
                    const RowSet* within, RecordedScores recorded, Buffers& buffers, ScheduleResult& result)
      : pod(pod),
        profile(profile),
        cluster(cluster),
        within(within),
        recorded_scores(recorded),
        buffers(buffers),
        result(result),
        attempt(pod, cluster.nodes, result.state, buffers.scratch) {}
  SchedulingContext(const SchedulingContext&) = delete;
  SchedulingContext& operator=(const SchedulingContext&) = delete;

  // --- input ---
  const cluster::PodInfo& pod;
  const runtime::Profile& profile;
  const ClusterView& cluster;
  // The only nodes on which the pod may be placed; null: all. Plugins count the pods of all nodes.
  const RowSet* within;
  const RecordedScores recorded_scores;
  // Of the buffers, `nominations` are the pods of at least this pod's priority, without the pod itself.
  Buffers& buffers;
  // --- result ---
  ScheduleResult& result;
  record::AttemptRecord& record() { return *result.record; }
  // --- intermediate results ---
  const framework::Attempt attempt;
  std::optional<runtime::PreFilterOutcome> pre_filter;    // set when the search for feasible nodes begins
  bool no_fit = false;                                    // no node is feasible; PostFilter may help
  equivalence_cache::EquivalenceClass* cached = nullptr;  // null: the cache is not used
  bool only_nominated = false;     // the pod's own nominated node passed, and the search ended there
  std::string nominated_rejector;  // the plugin that rejected that node; empty: none
  std::vector<extenders::FilterResult::NodeReason> nominated_reasons;  // of extenders for that node
};

// PostFilter on these rows, as if evictions could not help on the others. Without effects.
using RunPostFilter = std::function<framework::PostFilterResult(const RowSet& rows)>;

// The node names by row; records share them until a node is added or removed.
std::shared_ptr<const record::NodeNames> NamesOf(const cluster::NodeTable& nodes);

// The number of feasible nodes at which kube-scheduler stops searching. 0 percent: its adaptive share, which
// decreases with cluster size.
std::size_t NodesToFind(std::int64_t percentage, std::size_t nodes);

// Reuses buffers between decisions. Scheduler loop only.
class SchedulingAlgorithm {
 public:
  // `extenders` filter and score after the plugins.
  SchedulingAlgorithm(AlgorithmOptions options, const framework::Reasons& reasons,
                      extenders::Extenders& extenders)
      : options_(options), reasons_(reasons), extenders_(&extenders), random_(options.seed) {
    ClearCache();
  }

  // After the profiles were replaced: drops all results and buffers of the former ones.
  void Reconfigure(std::int64_t percentage_of_nodes_to_score, extenders::Extenders& extenders) {
    options_.percentage_of_nodes_to_score = percentage_of_nodes_to_score;
    extenders_ = &extenders;
    buffers_ = {};
    ClearCache();
  }

  // `nominations`: nominated pods of any priority; the pod's own nomination is ignored. Blocks while
  // extenders respond.
  ScheduleResult Schedule(const cluster::PodInfo& pod, const runtime::Profile& profile,
                          const ClusterView& cluster, std::span<const runtime::Nomination> nominations);
  // The same for a member of a pod group, without PostFilter: that is called for the group as a whole.
  // `within`: the nodes of the placement.
  ScheduleResult ScheduleMember(const cluster::PodInfo& pod, const runtime::Profile& profile,
                                const ClusterView& cluster, const RowSet& within, RecordedScores recorded,
                                std::span<const runtime::Nomination> nominations);
  // A member of a pod group that has a node, tested again after changes of the cluster. As in kube-scheduler,
  // the plugins count the pods that were on the nodes when the test was created, and those that Add and
  // Remove report. Must not outlive its arguments.
  class MemberTest {
   public:
    // `earlier` is the decision about the pod. The pods of the cluster are those of that time.
    MemberTest(const cluster::PodInfo& pod, const ScheduleResult& earlier, const runtime::Profile& profile,
               const ClusterView& cluster);

    // Report a pod that was added to the row or removed from it.
    framework::Status Add(const cluster::PlacedPod& pod, cluster::Row row);
    framework::Status Remove(const cluster::PlacedPod& pod, cluster::Row row);
    // As FitsOn.
    std::optional<framework::CycleState> FitsOn(cluster::Row row,
                                                std::span<const runtime::Nomination> nominations);

   private:
    SchedulingContext::Buffers buffers_;
    ScheduleResult result_;
    SchedulingContext context_;
  };
  // The attempt of Schedule, with `visit` in the place of PostFilter: called if no node fits, with the rows
  // on which evictions could help.
  using VisitPostFilter = std::function<void(const RowSet& potential, const RunPostFilter& run)>;
  void PreviewPostFilter(const cluster::PodInfo& pod, const runtime::Profile& profile,
                         const ClusterView& cluster, std::span<const runtime::Nomination> nominations,
                         const VisitPostFilter& visit);
  // Whether a member of a pod group for which `earlier` is the decision passes the filters on this row now,
  // nominated pods included; then the data of the plugins, for Reserve. Filters that were skipped then are
  // skipped again.
  std::optional<framework::CycleState> FitsOn(cluster::Row row, const cluster::PodInfo& pod,
                                              const ScheduleResult& earlier, const runtime::Profile& profile,
                                              const ClusterView& cluster,
                                              std::span<const runtime::Nomination> nominations);
  // Selects one of `count` equal choices, which are in the order of their names.
  std::size_t BreakTie(std::size_t count) {
    return options_.tie_break == TieBreak::kRandom ? random_.Below(count) : 0;
  }
  // What a decision changes in this object, apart from caches: after Restore, the same decisions on the same
  // cluster have the same results.
  struct Position {
    Random random;
    std::size_t next_start;
  };
  Position position() const { return {random_, next_start_}; }
  void Restore(const Position& position) {
    random_ = position.random;
    next_start_ = position.next_start;
  }
  // What later decisions depend on. Drops all cached results and continues with new random numbers, so that
  // an object which gets the returned value by Continue makes the same decisions and plugin calls.
  struct Start {
    std::uint64_t seed = 0;
    std::uint64_t next_start = 0;
    friend bool operator==(const Start&, const Start&) = default;
  };
  Start Restart() {
    const Start start{random_.Next(), next_start_};
    Continue(start);
    return start;
  }
  void Continue(const Start& start) {
    random_ = Random(start.seed);
    next_start_ = start.next_start;
    ClearCache();
  }
  // Removes cached results of pods that are gone, see EquivalenceCache::ReleaseUnused.
  void ReleaseUnused() {
    if (cache_) cache_->ReleaseUnused();
  }

 private:
  class PostFilterRun;
  using Context = SchedulingContext;

  template <class PostFilter>
  ScheduleResult Decide(const cluster::PodInfo& pod, const runtime::Profile& profile,
                        const ClusterView& cluster, const RowSet* within, RecordedScores recorded,
                        std::span<const runtime::Nomination> nominations, framework::CycleState state,
                        PostFilter&& post_filter);
  // The steps, in order. Those that return bool return false if no node can be selected.
  void SelectNode(Context& context);
  bool FindFeasible(Context& context);
  bool FindFeasibleInCache(Context& context);
  bool PassesPreFilter(Context& context);
  // Stores the plugins whose events may requeue the pod.
  static void RecordRejectors(Context& context);
  void EvaluateNominatedNode(Context& context, const RowSet& candidates);
  void AdvanceStart(const Context& context, std::size_t visited);
  void Sample(Context& context, const RowSet& candidates);
  framework::Status ScoreFeasible(Context& context);
  // The columns that affect the choice.
  static void CollectParts(Context& context);
  void RecordScores(Context& context) const;
  void ChooseBest(Context& context);
  void RunPostFilters(Context& context);

  // Extenders (extenders.cpp).
  bool RunExtenderFilters(Context& context);
  bool NominatedNodePassesExtenders(Context& context, const RowSet& alone);
  void AddContributions(Context& context, RowSet& preferred);

  // The cached results for the pod's shape; null if the cache does not apply to this pod.
  equivalence_cache::EquivalenceClass* Lookup(const Context& context);
  bool EvaluatesAllNodes(const runtime::Profile& profile) const;
  cluster::Row Choose(const record::AttemptRecord& record);
  cluster::Row ChooseFromCache(Context& context);

  void ClearCache() {
    cache_.reset();
    if (options_.equivalence_cache_bytes > 0) cache_.emplace(options_.equivalence_cache_bytes);
  }

  AlgorithmOptions options_;
  const framework::Reasons& reasons_;
  extenders::Extenders* extenders_;
  Random random_;
  std::size_t next_start_ = 0;  // the row at which the next sampled search starts
  std::optional<equivalence_cache::EquivalenceCache> cache_;
  Context::Buffers buffers_;
};

}  // namespace berth::algorithm
