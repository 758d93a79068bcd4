#include "tools/extender_server/evaluator.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "scheduler/cluster/overlay.hpp"
#include "scheduler/cluster/prepare_pod.hpp"

namespace berth::extender_server {

using cluster::Row;

namespace {

// The reasons of each row in their order.
std::vector<std::string> ReasonsByRow(const framework::FilterOutcome& outcome,
                                      const framework::Reasons& reasons, std::size_t rows) {
  std::vector<std::string> texts(rows);
  const auto add = [&](std::size_t row, std::string_view text) {
    if (!texts[row].empty()) texts[row] += ", ";
    texts[row] += text;
  };
  for (const auto& rejection : outcome.all()) {
    const std::string_view text = reasons.Text(rejection.reason);
    rejection.rows.ForEach([&](std::size_t row) { add(row, text); });
  }
  for (const auto& part : outcome.row_reasons) {
    for (const auto& [row, text] : part.reasons.rows) add(row, part.reasons.texts[text]);
  }
  return texts;
}

}  // namespace

// One evaluation of a pod.
struct Evaluator::Evaluation {
  Evaluation(assembly::Engine& engine, const runtime::Profile& profile, const api::PodPtr& pod,
             std::span<const runtime::Nomination> all, framework::ScratchPool& scratch)
      : table(engine.cache().nodes()),
        profile(profile),
        info(cluster::PreparePod(pod, engine.symbols())),
        attempt(info, table, state, scratch) {
    for (const runtime::Nomination& nomination : all) {
      if (nomination.row != cluster::kNoRow && nomination.pod->priority() >= info.priority() &&
          nomination.pod->pod->metadata.uid != pod->metadata.uid)
        nominations.push_back(nomination);
    }
    std::ranges::sort(nominations, {}, &runtime::Nomination::row);
    pre_filter = profile.RunPreFilter(attempt);
  }

  // The rows that PreFilter allows.
  RowSet Left(const RowSet& rows) const {
    if (!pre_filter.narrowed) return rows;
    RowSet left(table.rows());
    for (const cluster::NodeNameId name : pre_filter.nodes) {
      if (const Row row = table.Find(name); row != cluster::kNoRow && rows.Has(row)) left.Add(row);
    }
    return left;
  }

  cluster::NodeTable& table;
  const runtime::Profile& profile;
  cluster::PodInfo info;
  framework::CycleState state;
  framework::Attempt attempt;
  std::vector<runtime::Nomination> nominations;
  runtime::PreFilterOutcome pre_filter;
};

const runtime::Profile& Evaluator::ProfileOf(const api::Pod& pod) const {
  const std::string& name = options_.profile.empty() ? pod.spec.scheduler_name.str() : options_.profile;
  const runtime::Profile* profile = engine_.FindProfile(name);
  return profile != nullptr ? *profile : *engine_.profiles().front();
}

FilterVerdict Evaluator::Filter(const NodesRequest& request,
                                std::span<const runtime::Nomination> nominations) {
  FilterVerdict verdict;
  Evaluation evaluation(engine_, ProfileOf(*request.pod), request.pod, nominations, scratch_);
  const runtime::PreFilterOutcome& pre_filter = evaluation.pre_filter;
  if (!pre_filter.status.ok() && !pre_filter.status.rejected()) {
    verdict.error = pre_filter.status.Message();
    return verdict;
  }
  std::vector<Row> rows;
  RowSet requested(evaluation.table.rows());
  for (const std::string& name : request.names) {
    rows.push_back(evaluation.table.Find(name));
    if (rows.back() != cluster::kNoRow) requested.Add(rows.back());
  }
  const RowSet candidates = evaluation.Left(requested);
  outcome_.Reset(candidates);
  if (pre_filter.status.ok()) {
    evaluation.profile.RunFilters(evaluation.attempt, evaluation.table, pre_filter, evaluation.nominations,
                                  candidates, outcome_);
    if (!outcome_.errors.empty()) {
      verdict.error = outcome_.errors.front().second.Message();
      return verdict;
    }
  }
  const auto reasons = ReasonsByRow(outcome_, engine_.reasons(), evaluation.table.rows());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row row = rows[i];
    if (row == cluster::kNoRow) {
      verdict.failed.push_back(
          {i, fmt::format("Berth has not received node {} yet", request.names[i]), true});
    } else if (!pre_filter.status.ok()) {
      verdict.failed.push_back({i, pre_filter.status.Message(),
                                pre_filter.status.code == framework::Code::kUnschedulableAndUnresolvable});
    } else if (!candidates.Has(row)) {
      verdict.failed.push_back(
          {i, fmt::format("node(s) didn't satisfy plugin(s) [{}]", fmt::join(pre_filter.narrowing, " ")),
           true});
    } else if (outcome_.feasible.Has(row)) {
      verdict.passed.push_back(i);
    } else {
      verdict.failed.push_back({i, reasons[row], outcome_.unresolvable.Has(row)});
    }
  }
  return verdict;
}

Expected<std::vector<std::int64_t>> Evaluator::Prioritize(const NodesRequest& request) {
  std::vector<std::int64_t> scores(request.names.size(), 0);
  Evaluation evaluation(engine_, ProfileOf(*request.pod), request.pod, {}, scratch_);
  const framework::Status& status = evaluation.pre_filter.status;
  if (!status.ok()) {
    if (status.rejected()) return scores;
    return Fail(ErrorCode::kInternal, status.Message());
  }
  std::vector<Row> rows;
  RowSet known(evaluation.table.rows());
  for (const std::string& name : request.names) {
    rows.push_back(evaluation.table.Find(name));
    if (rows.back() != cluster::kNoRow) known.Add(rows.back());
  }
  if (known.Empty()) return scores;
  const framework::Status scored = evaluation.profile.RunScores(
      evaluation.attempt, known, engine_.cache().VisitingOrder(), columns_, skipped_);
  if (!scored.ok()) return Fail(ErrorCode::kInternal, scored.Message());
  const std::vector<std::int64_t> by_row = Scaled(known, evaluation.profile);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] != cluster::kNoRow) scores[i] = by_row[rows[i]];
  }
  return scores;
}

// Rounded to the nearest integer.
std::vector<std::int64_t> Evaluator::Scaled(const RowSet& rows, const runtime::Profile& profile) const {
  std::vector<std::int64_t> totals(engine_.cache().nodes().rows(), 0);
  std::int64_t weights = 0;
  const auto plugins = profile.scores();
  for (std::size_t i = 0; i < plugins.size(); ++i) {
    weights += plugins[i].weight;
    if (skipped_.Has(i)) continue;
    rows.ForEach([&](std::size_t row) { totals[row] += columns_[i].At(row) * plugins[i].weight; });
  }
  std::int64_t low = 0;
  std::int64_t high = weights * framework::kMaxScore;
  if (options_.stretch) {
    low = INT64_MAX;
    high = INT64_MIN;
    rows.ForEach([&](std::size_t row) {
      low = std::min(low, totals[row]);
      high = std::max(high, totals[row]);
    });
    if (low == high) --low;  // all get the best score
  }
  const std::int64_t range = std::max<std::int64_t>(high - low, 1);
  for (std::int64_t& total : totals)
    total =
        std::clamp<std::int64_t>(((total - low) * kHighestScore * 2 + range) / (range * 2), 0, kHighestScore);
  return totals;
}

Expected<std::vector<std::size_t>> Evaluator::Preempt(const PreemptRequest& request,
                                                      std::span<const runtime::Nomination> nominations) {
  std::vector<std::size_t> kept;
  Evaluation evaluation(engine_, ProfileOf(*request.pod), request.pod, nominations, scratch_);
  const framework::Status& status = evaluation.pre_filter.status;
  if (!status.ok()) {
    if (status.rejected()) return kept;
    return Fail(ErrorCode::kInternal, status.Message());
  }
  for (std::size_t i = 0; i < request.nodes.size(); ++i) {
    const NodeVictims& victims = request.nodes[i];
    const Row row = evaluation.table.Find(victims.node);
    if (row == cluster::kNoRow || victims.uids.empty()) continue;
    if (FitsWithout(evaluation, row, victims)) kept.push_back(i);
  }
  return kept;
}

bool Evaluator::FitsWithout(const Evaluation& evaluation, Row row, const NodeVictims& victims) {
  RowSet alone(evaluation.table.rows());
  alone.Add(row);
  alone = evaluation.Left(alone);
  if (alone.Empty()) return false;
  framework::CycleState state = evaluation.state.Clone();
  const framework::Attempt imagined = evaluation.attempt.With(state);
  cluster::NodeTable::Overlay overlay(evaluation.table);
  std::set<std::string_view> seen;
  for (const std::string& uid : victims.uids) {
    if (!seen.insert(uid).second) continue;
    const auto pods = evaluation.table.pods(row);
    const auto found = std::ranges::find(
        pods, uid, [](const cluster::PlacedPod* placed) { return placed->pod->metadata.uid; });
    if (found == pods.end()) continue;
    cluster::PlacedPod& victim = **found;
    overlay.Remove(row, victim);
    if (!evaluation.profile.RunRemovePod(imagined, evaluation.pre_filter, victim, row).ok()) return false;
  }
  evaluation.profile.RunFiltersForDryRun(imagined, evaluation.table, evaluation.pre_filter,
                                         evaluation.nominations, alone, outcome_);
  return outcome_.errors.empty() && outcome_.feasible.Has(row);
}

}  // namespace berth::extender_server
