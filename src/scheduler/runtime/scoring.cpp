// PreScore, Score, Normalize: one column per plugin, checked for valid scores and stored as bytes.
#include <fmt/format.h>

#include "scheduler/runtime/guarded.hpp"
#include "scheduler/runtime/profile.hpp"

namespace berth::runtime {

using framework::Attempt;
using framework::Status;

Status Profile::RunScores(const Attempt& attempt, const RowSet& feasible, std::span<const cluster::Row> order,
                          std::vector<framework::ScoreColumn>& columns, SkippedPlugins& skipped) const {
  columns.resize(scores_.size());
  if (Status status = RunPreScores(attempt, feasible, skipped); !status.ok()) return status;
  if (scores_.empty()) return {};
  PointTimer timer(*this, ExtensionPoint::kScore);
  Status status;
  for (std::size_t i = 0; i < scores_.size() && status.ok(); ++i) {
    if (skipped.Has(i)) continue;
    status = RunRawScore(i, attempt, feasible, columns[i]);
    if (status.ok()) status = Normalize(i, attempt, feasible, columns[i]);
  }
  if (status.ok()) status = CheckRange(feasible, order, columns, skipped);
  timer.code = status.code;
  return status;
}

Status Profile::RunPreScores(const Attempt& attempt, const RowSet& feasible, SkippedPlugins& skipped,
                             const ReusableResult* reusable) const {
  skipped.Clear();
  if (scores_.empty()) return {};  // without score plugins kube-scheduler does not run PreScore
  if (CallsAllPlugins()) reusable = nullptr;
  if (reusable != nullptr) skipped = reusable->skipped;
  PointTimer timer(*this, ExtensionPoint::kPreScore);
  Status failed;
  std::size_t index = ReusableResult::NextCalled(reusable, 0);
  for (; index < pre_scores_.size(); index = ReusableResult::NextCalled(reusable, index + 1)) {
    framework::PreScorePlugin* plugin = pre_scores_[index];
    const Status status =
        Guarded(ExtensionPoint::kPreScore, *plugin, [&] { return plugin->PreScore(attempt, feasible); });
    if (status.ok()) continue;
    if (!status.skip()) {
      timer.code = framework::Code::kError;
      failed =
          Status::Error(fmt::format("running PreScore plugin \"{}\": {}", plugin->Name(), status.Message()));
      break;
    }
    if (pre_score_score_[index] != SIZE_MAX) skipped.Add(pre_score_score_[index]);
  }
  CountCalled(evaluations_.pre_score, index + 1);
  return failed;
}

ReusableResult Profile::ReusablePreScores(const cluster::PodInfo& pod, const SkippedPlugins& skipped) const {
  ReusableResult reusable;
  for (std::size_t index = 0; index < pre_scores_.size(); ++index) {
    if (pre_scores_[index]->PreScoreDependency(pod) != framework::ResultDependency::kNodes) continue;
    reusable.plugins.Add(index);
    if (const std::size_t i = pre_score_score_[index]; i != SIZE_MAX && skipped.Has(i))
      reusable.skipped.Add(i);
  }
  return reusable;
}

Status Profile::RunRawScore(std::size_t index, const Attempt& attempt, const RowSet& rows,
                            framework::ScoreColumn& column) const {
  framework::ScorePlugin& plugin = *scores_[index].plugin;
  column.Reset(attempt.nodes().rows());
  if (!evaluations_.score.empty()) evaluations_.score[index]->Add(rows.Count());
  const Status status =
      Guarded(ExtensionPoint::kScore, plugin, [&] { return plugin.Score(attempt, rows, column); });
  if (status.ok()) return {};
  return Status::Error(
      fmt::format("running Score plugins: plugin \"{}\" failed with: {}", plugin.Name(), status.Message()));
}

Status Profile::Normalize(std::size_t index, const Attempt& attempt, const RowSet& feasible,
                          framework::ScoreColumn& column) const {
  framework::ScorePlugin& plugin = *scores_[index].plugin;
  const Status status = Guarded(ExtensionPoint::kScoreExtensionNormalize, plugin,
                                [&] { return plugin.Normalize(attempt, feasible, column); });
  if (status.ok()) return {};
  return Status::Error(fmt::format("running Normalize on Score plugins: plugin \"{}\" failed with: {}",
                                   plugin.Name(), status.Message()));
}

// kube-scheduler applies weights node by node. Of several invalid scores, it reports that of the first node
// and its first plugin.
Status Profile::CheckRange(const RowSet& feasible, std::span<const cluster::Row> order,
                           std::span<framework::ScoreColumn> columns, const SkippedPlugins& skipped) const {
  bool any = false;
  for (std::size_t i = 0; i < scores_.size(); ++i) {
    if (!skipped.Has(i) && !columns[i].ShrinkToScores(feasible)) any = true;
  }
  if (!any) return {};
  for (const cluster::Row row : order) {
    if (!feasible.Has(row)) continue;
    for (std::size_t i = 0; i < scores_.size(); ++i) {
      if (skipped.Has(i) || framework::IsScore(columns[i].At(row))) continue;
      return Status::Error(fmt::format(
          "applying score defaultWeights on Score plugins: plugin \"{}\" returns an invalid score {}, it "
          "should in the range of [0, 100] after normalizing",
          scores_[i].plugin->Name(), columns[i].At(row)));
    }
  }
  return {};
}

}  // namespace berth::runtime
