// What was found out about pods of one shape, kept and brought up to date for the next one: the reason why a
// thousand equal pods do not cost a thousand times what one costs.
//
// Nothing here knows a scheduling rule. Plugins say what their answers hang on (framework::ResultDependency); of a shape
// that was met before only the rows are judged and scored again on which pods have come or gone since, by the
// same plugins with a smaller set of rows. When a node has changed, or a plugin takes part that cannot say
// what it looks at, everything is asked anew. The decisions are the same with and without it, to the last
// score; what plugins do not hear of twice is how often they are asked.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "kubernetes/api/cow_ptr.hpp"
#include "scheduler/equivalence_cache/tournament_tree.hpp"
#include "scheduler/framework/attempt.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/record/attempt_record.hpp"
#include "scheduler/record/score_history.hpp"
#include "scheduler/runtime/profile.hpp"

namespace berth::equivalence_cache {

// One shape of pods, as one profile judges it.
class EquivalenceClass {
 public:
  explicit EquivalenceClass(const runtime::Profile& profile) : profile_(profile) {}

  // PreFilter of another pod of the shape. A pod that it narrows to some nodes is not for this memory.
  runtime::PreFilterOutcome RunPreFilter(const framework::Attempt& attempt) const;
  // Brings the verdicts of all filters on all nodes up to date. False if they cannot be told from memory;
  // then nothing is remembered any more.
  bool Evaluate(const framework::Attempt& attempt, const runtime::PreFilterOutcome& pre_filter);
  const framework::FilterOutcome& verdicts() const { return verdicts_; }
  void RecordVerdicts(record::AttemptRecord& record);
  // The same for the scores of the feasible nodes, of which there are two or more. After Evaluate.
  bool Rank(const framework::Attempt& attempt);
  // After Rank:
  const TournamentTree& best() const { return best_; }
  void KeepScores(record::AttemptRecord& record);

  std::size_t Bytes() const;

 private:
  // One score plugin's part of the totals.
  struct Part {
    std::size_t index = 0;  // in the profile
    framework::Normalization how = framework::Normalization::kNone;
    bool by_row = false;  // ResultDependency::kRow
    std::int32_t weight = 1;
    framework::ScoreColumn raw;  // as the plugin answered; kept up to date where it is normalised
  };

  bool Rebuild(const framework::Attempt& attempt, const runtime::PreFilterOutcome& pre_filter);
  bool JudgeChanged(const framework::Attempt& attempt, const runtime::PreFilterOutcome& pre_filter);
  bool TakeVerdicts();
  bool ScoreAll(const framework::Attempt& attempt);
  bool ScoreChanged(const framework::Attempt& attempt);
  bool ScoreRows(std::size_t place, const framework::Attempt& attempt);
  bool Normalize(std::size_t place);
  void CollectColumns();
  std::int32_t Total(std::size_t row) const;

  const runtime::Profile& profile_;
  std::uint64_t node_changes_ = 0;  // the table's, when it was last looked at; 0: nothing is known
  std::uint64_t pod_changes_ = 0;
  runtime::ReusableResult reusable_pre_filter_;
  runtime::SkippedPlugins skipped_filters_;
  std::size_t first_by_row_ = 0;  // the first filter whose answer may change with the pods on a row
  RowSet reaching_;               // rows that all filters before it let pass
  framework::FilterOutcome verdicts_;
  framework::FilterOutcome again_;  // of changed rows
  // The verdicts as records keep them, which share them until they change.
  bool kept_ = false;
  SharedRows kept_feasible_, kept_unresolvable_;
  api::CowList<record::Rejection> kept_rejections_;
  RowSet changed_;

  bool ranked_ = false;
  RowSet to_score_;              // changed since the scores were last up to date; feasible or not
  bool joined_or_left_ = false;  // of the feasible rows
  runtime::ReusableResult reusable_pre_scores_;
  runtime::SkippedPlugins skipped_scores_, skipped_now_;
  std::vector<Part> parts_;       // in the order of the plugins' names
  record::ScoreHistory history_;  // of all parts, by their place
  // Those that make a difference. As long as scores only change row by row.
  struct Totalled {
    const std::uint8_t* scores;
    std::int32_t weight;
  };
  std::vector<Totalled> totalled_;
  std::size_t column_bytes_ = 0;
  std::vector<std::size_t> scored_rows_;  // the feasible ones of to_score_
  framework::ScoreColumn answer_;
  TournamentTree best_;
};

// The shapes met lately. One thread: the scheduler loop's.
class EquivalenceCache {
 public:
  explicit EquivalenceCache(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // What is known of pods of this shape. Null: not worth remembering yet.
  EquivalenceClass* Lookup(const cluster::PodShapePtr& shape, const runtime::Profile& profile);
  // It has turned out that this one cannot be remembered; it is tried again later.
  void Invalidate(const cluster::PodShapePtr& shape);

 private:
  struct Entry {
    cluster::PodShapePtr shape;
    std::uint64_t met = 0;         // the number of the last decision about it
    std::uint64_t not_before = 0;  // given up until that decision
    const runtime::Profile* profile = nullptr;
    std::unique_ptr<EquivalenceClass> known;
    std::size_t bytes = 0;
  };
  void Drop(Entry& entry);
  bool MakeRoom();
  void ForgetOldShapes();

  std::size_t max_bytes_;
  std::uint64_t decisions_ = 0;
  std::size_t known_ = 0;
  std::size_t bytes_ = 0;
  boost::unordered_flat_map<const cluster::PodShape*, Entry> entries_;
};

}  // namespace berth::equivalence_cache
