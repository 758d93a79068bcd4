#include "scheduler/plugins/default_preemption/preemption_steps.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/interner.hpp"
#include "base/random.hpp"

namespace berth::plugins {

using cluster::NodeTable;
using cluster::Row;
using framework::FilterOutcome;
using framework::Status;

namespace {

const Candidate& ChooseCandidate(const std::vector<Candidate>& candidates, const RowSet& best,
                                 const NodeTable& nodes, Random* rng) {
  Row chosen = static_cast<Row>(best.First());
  std::uint64_t skip = rng == nullptr ? 0 : rng->Below(best.Count());
  best.ForEach([&](std::size_t index) {
    const Row row = static_cast<Row>(index);
    const bool better = rng == nullptr ? nodes.name(row) < nodes.name(chosen) : skip-- == 0;
    if (better) chosen = row;
  });
  return *std::ranges::find(candidates, chosen, &Candidate::row);
}

}  // namespace

metrics::Counter* PreemptionAttempts(metrics::Registry* registry) {
  if (registry == nullptr) return nullptr;
  return &registry->Counter("scheduler_preemption_attempts_total",
                            "[STABLE] Total preemption attempts in the cluster till now");
}

RowSet PotentialRows(const FilterOutcome& verdicts, const NodeTable& nodes) {
  RowSet rows = nodes.all();
  rows -= verdicts.unresolvable;
  for (const std::size_t plugin : verdicts.pending) {
    for (const auto& rejection : verdicts.all()) {
      if (rejection.plugin == plugin) rows -= rejection.rows;
    }
    for (const auto& part : verdicts.row_reasons) {
      if (part.plugin != plugin) continue;
      for (const auto& [row, text] : part.reasons.rows) rows.Remove(row);
    }
  }
  return rows;
}

void CountRejections(const FilterOutcome& outcome, const framework::Reasons& reasons, ReasonCounts& counts) {
  for (const auto& rejection : outcome.all())
    counts[reasons.Text(rejection.reason)] += rejection.rows.Count();
  for (const auto& part : outcome.row_reasons) {
    for (const auto& [row, text] : part.reasons.rows) ++counts[part.reasons.texts[text]];
  }
}

std::string NoCandidateMessage(ReasonCounts counts, std::size_t tried, const NodeTable& nodes) {
  if (tried < nodes.node_count())
    counts["Preemption is not helpful for scheduling"] += nodes.node_count() - tried;
  std::vector<std::string> parts;
  for (const auto& [reason, count] : counts) parts.push_back(fmt::format("{} {}", count, reason));
  std::ranges::sort(parts);
  return fmt::format("0/{} nodes are available: {}.", nodes.node_count(), fmt::join(parts, ", "));
}

Status RunReviewers(std::span<framework::PreemptionReviewer* const> reviewers, const cluster::PodInfo& pod,
                    std::vector<Candidate>& candidates) {
  if (reviewers.empty()) return {};
  std::vector<framework::PreemptionCandidate> reviewed;
  std::vector<Importance::Entry> buffer;
  for (const Candidate& candidate : candidates) {
    auto& shown =
        reviewed.emplace_back(framework::PreemptionCandidate{candidate.row, {}, candidate.violations});
    for (const Importance::Entry& victim : VictimsOf(candidate, buffer)) shown.victims.push_back(victim.pod);
  }
  for (framework::PreemptionReviewer* reviewer : reviewers) {
    if (Status status = reviewer->Review(pod, reviewed); !status.ok()) return status;
    if (reviewed.empty()) break;
  }
  candidates.clear();
  for (const framework::PreemptionCandidate& left : reviewed) {
    Candidate& candidate = candidates.emplace_back(Candidate{left.row, {}, left.violations});
    for (cluster::PlacedPod* victim : left.victims) candidate.victims.push_back(Importance::EntryOf(*victim));
  }
  return {};
}

framework::PostFilterResult NominateBest(const std::vector<Candidate>& candidates, const NodeTable& nodes,
                                         Random* rng) {
  framework::Eviction eviction{.victims = {}, .violations = 0, .choices = BestCandidates(candidates)};
  const Candidate& chosen = ChooseCandidate(candidates, eviction.choices, nodes, rng);
  eviction.violations = chosen.violations;
  std::vector<Importance::Entry> buffer;
  for (const Importance::Entry& victim : VictimsOf(chosen, buffer))
    eviction.victims.push_back(victim.pod->pod);
  return {Status{}, nodes.name(chosen.row), std::move(eviction)};
}

}  // namespace berth::plugins
