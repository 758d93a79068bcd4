// The equivalence cache: results of filters and scores per pod shape, kept and updated incrementally. A
// thousand identical pods cost far less than a thousand times the first one.
//
// The cache contains no scheduling rules. Plugins declare what their results depend on
// (framework::ResultDependency). For a known shape, only rows on which pods were added or removed are
// evaluated again, by the same plugins with a smaller set of rows. When a node has changed, or a plugin with
// unknown dependencies takes part, everything is evaluated again. Decisions and scores are identical with and
// without the cache; only the number of plugin calls differs.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "kubernetes/api/cow_ptr.hpp"
#include "scheduler/equivalence_cache/tournament_tree.hpp"
#include "scheduler/framework/attempt.hpp"
#include "scheduler/framework/filter_outcome.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/record/attempt_record.hpp"
#include "scheduler/record/score_history.hpp"
#include "scheduler/runtime/profile.hpp"

namespace berth::equivalence_cache {

// The cached results of one pod shape in one profile.
class EquivalenceClass {
 public:
  explicit EquivalenceClass(const runtime::Profile& profile) : profile_(profile) {}

  // PreFilter of another pod of the shape. A pod that PreFilter limits to some nodes cannot use the cache.
  runtime::PreFilterOutcome RunPreFilter(const framework::Attempt& attempt) const;
  // Updates the verdicts of all filters for all nodes. Returns false if they cannot be updated incrementally;
  // the entry is then empty.
  bool Evaluate(const framework::Attempt& attempt, const runtime::PreFilterOutcome& pre_filter);
  const framework::FilterOutcome& verdicts() const { return verdicts_; }
  void RecordVerdicts(record::AttemptRecord& record);
  // Updates the scores of the feasible nodes, of which there must be at least two. Requires a preceding
  // Evaluate.
  bool Rank(const framework::Attempt& attempt);
  // Valid after Rank:
  const TournamentTree& best() const { return best_; }
  void KeepScores(record::AttemptRecord& record);

  std::size_t Bytes() const;

 private:
  // The contribution of one score plugin to the totals.
  struct Part {
    std::size_t index = 0;  // in Profile::scores()
    framework::Normalization how = framework::Normalization::kNone;
    bool by_row = false;  // ResultDependency::kRow
    std::int32_t weight = 1;
    framework::ScoreColumn raw;  // raw scores; maintained if they are normalized
  };

  bool Rebuild(const framework::Attempt& attempt, const runtime::PreFilterOutcome& pre_filter);
  bool EvaluateChangedRows(const framework::Attempt& attempt, const runtime::PreFilterOutcome& pre_filter);
  bool TakeVerdicts();
  bool ScoreAll(const framework::Attempt& attempt);
  bool ScoreChanged(const framework::Attempt& attempt);
  bool ScoreRows(std::size_t place, const framework::Attempt& attempt);
  bool Normalize(std::size_t place);
  void CollectColumns();
  std::int32_t Total(std::size_t row) const;

  const runtime::Profile& profile_;
  std::uint64_t node_changes_ = 0;  // NodeTable::node_changes() at the last update; 0: the entry is empty
  std::uint64_t pod_changes_ = 0;
  runtime::ReusableResult reusable_pre_filter_;
  runtime::SkippedPlugins skipped_filters_;
  std::size_t first_by_row_ = 0;  // first filter whose result depends on the pods of a row
  RowSet reaching_;               // rows that passed all filters before it
  framework::FilterOutcome verdicts_;
  framework::FilterOutcome again_;  // result for changed rows
  // The verdicts in the form of records, which share them until they change.
  bool kept_ = false;
  SharedRows kept_feasible_, kept_unresolvable_;
  api::CowList<record::Rejection> kept_rejections_;
  RowSet changed_;

  bool ranked_ = false;
  RowSet to_score_;              // changed since the last update of scores; feasible or not
  bool joined_or_left_ = false;  // the set of feasible rows has changed
  runtime::ReusableResult reusable_pre_scores_;
  runtime::SkippedPlugins skipped_scores_, skipped_now_;
  std::vector<Part> parts_;       // sorted by plugin name
  record::ScoreHistory history_;  // by index in parts_
  // Columns that affect the order of totals. Used while scores change row by row.
  std::vector<TournamentTree::Part> totalled_;
  std::size_t column_bytes_ = 0;
  std::vector<std::size_t> scored_rows_;  // the feasible rows of to_score_
  framework::ScoreColumn answer_;
  TournamentTree best_;
};

// Cache entries of recently seen shapes, bounded in bytes. Scheduler loop only.
class EquivalenceCache {
 public:
  explicit EquivalenceCache(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // The entry of this shape. Null: the shape has not been seen often enough.
  EquivalenceClass* Lookup(const cluster::PodShapePtr& shape, const runtime::Profile& profile);
  // Drops an entry that turned out not to be cacheable; it is tried again after a number of decisions.
  void Invalidate(const cluster::PodShapePtr& shape);
  // Removes the entries that were not looked up since the last call and whose shape no waiting pod has: an
  // entry keeps the specification of its first pod.
  void ReleaseUnused();

 private:
  struct Entry {
    cluster::PodShapePtr shape;
    std::uint64_t met = 0;         // number of the last decision about this shape
    std::uint64_t not_before = 0;  // not cached before this decision
    const runtime::Profile* profile = nullptr;
    std::unique_ptr<EquivalenceClass> known;
    std::size_t bytes = 0;
  };
  void Drop(Entry& entry);
  bool MakeRoom();
  void ForgetOldShapes();

  std::size_t max_bytes_;
  std::uint64_t decisions_ = 0;
  std::uint64_t released_ = 0;  // value of decisions_ at the last call of ReleaseUnused
  std::size_t known_ = 0;
  std::size_t bytes_ = 0;
  boost::unordered_flat_map<const cluster::PodShape*, Entry> entries_;
};

}  // namespace berth::equivalence_cache
