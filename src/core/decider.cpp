#include "core/decider.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace berth::core {

using framework::Attempt;
using framework::Row;
using framework::Status;
using record::AttemptRecord;
using record::Result;

std::shared_ptr<const record::NodeNames> NamesOf(const framework::NodeTable& nodes) {
  auto names = std::make_shared<record::NodeNames>();
  names->by_row.resize(nodes.rows());
  nodes.all().ForEach([&](std::size_t row) { names->by_row[row] = nodes.name(static_cast<Row>(row)); });
  return names;
}

Decision Decider::Decide(const framework::PodInfo& pod, const runtime::Profile& profile,
                         const ClusterView& cluster, std::span<const runtime::Nomination> nominations) {
  Decision decision;
  decision.record = std::make_shared<AttemptRecord>();
  AttemptRecord& record = *decision.record;
  record.pod = pod.key;
  record.scheduler_name = profile.name();
  record.nodes = cluster.names;
  record.all = cluster.nodes.all();
  if (cluster.nodes.node_count() == 0) {
    record.result = Result::kUnschedulable;
    record.message = "no nodes available to schedule pods";
    return decision;
  }

  const Attempt attempt(pod, cluster.nodes, scratch_);
  if (!FindFeasible(attempt, profile, cluster, nominations, decision)) return decision;

  const std::size_t feasible = record.feasible.Count();
  if (feasible == 1 || only_nominated_) {
    if (only_nominated_) {
      record.best.Add(cluster.nodes.Find(pod.nominated));
    } else {
      record.best = record.feasible;
    }
  } else if (const Status status = ScoreFeasible(attempt, profile, cluster, record); !status.ok()) {
    record.result = Result::kError;
    record.message = status.Message();
    return decision;
  }
  record.result = Result::kScheduled;
  record.node = decision.row = Choose(record);
  return decision;
}

// True if there is at least one feasible node; else the decision is complete.
bool Decider::FindFeasible(const Attempt& attempt, const runtime::Profile& profile,
                           const ClusterView& cluster, std::span<const runtime::Nomination> nominations,
                           Decision& decision) {
  AttemptRecord& record = *decision.record;
  const auto fail = [&](Result result, std::string message) {
    record.result = result;
    record.message = std::move(message);
    return false;
  };
  const runtime::PreFilterOutcome pre_filter = profile.RunPreFilter(attempt);
  if (!pre_filter.status.ok()) {
    if (!pre_filter.status.rejected()) return fail(Result::kError, pre_filter.status.Message());
    // Several narrowing plugins that agree on no node reject the pod together.
    decision.rejectors = pre_filter.narrowing;
    std::ranges::sort(decision.rejectors);
    std::string plugin = pre_filter.status.plugin;
    if (plugin.empty()) {
      plugin = fmt::format("{}", fmt::join(decision.rejectors, ","));
    } else {
      decision.rejectors.push_back(plugin);
    }
    record.pre_filter =
        record::PreFilterRejection{pre_filter.status.code, std::move(plugin), pre_filter.status.reasons};
    return fail(Result::kUnschedulable, FitErrorMessage(record, reasons_));
  }

  relevant_.clear();
  for (const runtime::Nomination& nomination : nominations) {
    if (nomination.row != framework::kNoRow && nomination.pod->priority() >= attempt.pod().priority() &&
        nomination.pod->pod->metadata.uid != attempt.pod().pod->metadata.uid) {
      relevant_.push_back(nomination);
    }
  }
  RowSet candidates = cluster.nodes.all();
  if (pre_filter.narrowed) {
    candidates.Clear();
    for (const framework::NodeNameId name : pre_filter.nodes) {
      if (const Row row = cluster.nodes.Find(name); row != framework::kNoRow) candidates.Add(row);
    }
  }
  only_nominated_ = false;
  nominated_rejector_.clear();
  if (attempt.pod().nominated.known())
    JudgeNominatedNode(attempt, profile, cluster, pre_filter, candidates, record);

  profile.RunFilters(attempt, cluster.nodes, pre_filter, relevant_, candidates, filtered_);
  if (!filtered_.errors.empty() && !only_nominated_) {
    return fail(Result::kError, filtered_.errors.front().second.Message());
  }
  KeepVerdicts(profile, record);
  if (pre_filter.narrowed) {
    std::set<std::string> plugins(pre_filter.narrowing.begin(), pre_filter.narrowing.end());
    if (!nominated_rejector_.empty()) plugins.insert(nominated_rejector_);
    RowSet judged = candidates;
    judged |= record.feasible;
    for (const record::Rejection& rejection : record.rejections) judged |= rejection.rows;
    record.left_out = record.all;
    record.left_out -= judged;
    std::vector<std::string> narrowing = pre_filter.narrowing;
    std::ranges::sort(narrowing);
    record.left_out_plugins = fmt::format("{}", fmt::join(narrowing, ","));
    record.left_out_reason = fmt::format("node(s) didn't satisfy plugin(s) [{}]", fmt::join(plugins, " "));
  }
  if (!record.feasible.Empty()) {
    if (!only_nominated_) Sample(profile, cluster, candidates, record.feasible);
    return true;
  }
  std::set<std::string> rejectors(pre_filter.narrowing.begin(), pre_filter.narrowing.end());
  for (const record::Rejection& rejection : record.rejections) rejectors.emplace(rejection.plugin);
  decision.rejectors.assign(rejectors.begin(), rejectors.end());
  return fail(Result::kUnschedulable, FitErrorMessage(record, reasons_));
}

// kube-scheduler tries status.nominatedNodeName before all others, even where PreFilter left it out, and
// looks no further if it passes.
void Decider::JudgeNominatedNode(const Attempt& attempt, const runtime::Profile& profile,
                                 const ClusterView& cluster, const runtime::PreFilterOutcome& pre_filter,
                                 const RowSet& candidates, AttemptRecord& record) {
  const Row row = cluster.nodes.Find(attempt.pod().nominated);
  if (row == framework::kNoRow) return;
  RowSet alone(cluster.nodes.rows());
  alone.Add(row);
  profile.RunFilters(attempt, cluster.nodes, pre_filter, relevant_, alone, filtered_);
  only_nominated_ = !filtered_.feasible.Empty();
  if (filtered_.used > 0) nominated_rejector_ = profile.filters()[filtered_.all().back().plugin]->Name();
  // The general search will not look at it: what was found out here is its verdict.
  if (!candidates.Has(row)) KeepVerdicts(profile, record);
}

void Decider::KeepVerdicts(const runtime::Profile& profile, AttemptRecord& record) const {
  for (const runtime::FilterOutcome::Rejection& rejection : filtered_.all()) {
    record.rejections.push_back(
        {profile.filters()[rejection.plugin]->Name(), rejection.reason, rejection.rows});
  }
  record.unresolvable |= filtered_.unresolvable;
  record.feasible |= filtered_.feasible;
}

// Leaves the feasible nodes that kube-scheduler would have stopped at: it visits nodes in turn from where the
// last search ended, until it has found a percentage of all.
void Decider::Sample(const runtime::Profile& profile, const ClusterView& cluster, const RowSet& candidates,
                     RowSet& feasible) {
  constexpr std::size_t kFeasibleMin = 100;
  const auto percentage = static_cast<std::size_t>(
      profile.percentage_of_nodes_to_score().value_or(options_.percentage_of_nodes_to_score));
  const std::size_t nodes = cluster.visiting_order.size();
  const std::size_t searched = candidates.Count();
  if (!options_.sample || percentage == 0 || percentage >= 100 || searched < kFeasibleMin) return;
  // Without scores one feasible node is as good as another, and the first will do.
  const std::size_t wanted =
      profile.scores().empty() ? 1 : std::max(searched * percentage / 100, kFeasibleMin);
  RowSet kept(cluster.nodes.rows());
  std::size_t found = 0;
  std::size_t visited = 0;  // of the nodes searched: those move the start
  for (std::size_t i = 0; i < nodes && found < wanted; ++i) {
    const Row row = cluster.visiting_order[(next_start_ + i) % nodes];
    if (!candidates.Has(row)) continue;
    ++visited;
    if (!feasible.Has(row)) continue;
    kept.Add(row);
    ++found;
  }
  next_start_ = (next_start_ + visited) % nodes;
  feasible = kept;
}

Status Decider::ScoreFeasible(const Attempt& attempt, const runtime::Profile& profile,
                              const ClusterView& cluster, AttemptRecord& record) {
  if (const Status status =
          profile.RunScores(attempt, record.feasible, cluster.visiting_order, columns_, skipped_);
      !status.ok())
    return status;
  totals_.assign(attempt.nodes().rows(), 0);
  record.scored = true;
  record.base_total = profile.scores().empty() ? 1 : 0;
  for (std::size_t i = 0; i < profile.scores().size(); ++i) {
    if (skipped_[i]) continue;
    const auto& [plugin, weight] = profile.scores()[i];
    record::Scores& kept = record.scores.emplace_back();
    kept.plugin = plugin->Name();
    kept.weight = weight;
    if (columns_[i].uniform()) {
      kept.uniform = static_cast<std::uint8_t>(columns_[i].uniform_value());
      continue;  // the same for all: it decides nothing
    }
    const auto values = columns_[i].values();
    kept.values.resize(values.size());
    for (std::size_t row = 0; row < values.size(); ++row) {
      kept.values[row] = static_cast<std::uint8_t>(values[row]);
      totals_[row] += weight * values[row];
    }
  }
  std::ranges::sort(record.scores, {}, &record::Scores::plugin);
  ChooseBest(record, totals_);
  return {};
}

void Decider::ChooseBest(AttemptRecord& record, std::span<const std::int64_t> totals) const {
  std::int64_t best = INT64_MIN;
  record.feasible.ForEach([&](std::size_t row) { best = std::max(best, totals[row]); });
  record.best.Resize(totals.size());
  record.feasible.ForEach([&](std::size_t row) {
    if (totals[row] == best) record.best.Add(row);
  });
}

Row Decider::Choose(const AttemptRecord& record) {
  if (options_.tie_break == TieBreak::kFirstByName) {
    Row chosen = static_cast<Row>(record.best.First());
    record.best.ForEach([&](std::size_t row) {
      if (record.nodes->by_row[row] < record.nodes->by_row[chosen]) chosen = static_cast<Row>(row);
    });
    return chosen;
  }
  std::uint64_t skip = random_.Below(record.best.Count());
  Row chosen = framework::kNoRow;
  record.best.ForEach([&](std::size_t row) {
    if (chosen == framework::kNoRow && skip-- == 0) chosen = static_cast<Row>(row);
  });
  return chosen;
}

}  // namespace berth::core
