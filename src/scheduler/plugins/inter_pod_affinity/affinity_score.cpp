// Preferred terms of the incoming pod and of pods on nodes: the score of each node.
#include <algorithm>

#include "scheduler/plugins/inter_pod_affinity/inter_pod_affinity.hpp"

namespace berth::plugins {

using cluster::TermRole;
using framework::Attempt;
using framework::Status;

namespace {

constexpr const char* kNoPreScoreState =
    "failed to read \"PreScoreInterPodAffinity\" from cycleState: not found";

}  // namespace

Status InterPodAffinity::PreScore(const Attempt& attempt, const RowSet&) const {
  const cluster::PodAffinityTerms& terms =
      attempt.pod().use().affinity != nullptr ? *attempt.pod().use().affinity : no_terms_;
  if (args_.ignore_preferred_terms_of_existing_pods && !terms.has_preferred) return Status::Skip();
  if (!terms.error.empty()) return Status::Error("failed to parse pod: " + terms.error);
  Sums& sums = attempt.Buffer(sums_).scores;
  sums.Reset();
  // Whether any term applies to a node, even if the sum is zero.
  bool any = false;
  const auto add = [&](cluster::LabelKeyId key, const cluster::RowCounts& rows, std::int64_t weight) {
    if (!rows.empty()) any |= sums.Of(key, attempt.nodes()).AddAll(rows, weight);
  };
  for (const auto& [term, weight] : terms.preferred)
    add(term->topology_key, counters_.Matching(term->query), weight);
  const cluster::PodLabels& labels = *attempt.pod().use().labels;
  if (args_.hard_pod_affinity_weight > 0) {
    counters_.ForEachCarried(TermRole::kRequired, labels, [&](const cluster::CarriedTerm& carried) {
      add(carried.term->topology_key, carried.rows, args_.hard_pod_affinity_weight);
    });
  }
  counters_.ForEachCarried(TermRole::kPreferred, labels, [&](const cluster::CarriedTerm& carried) {
    add(carried.term->topology_key, carried.rows, carried.weight);
  });
  if (!any) return Status::Skip();
  attempt.state().Write(score_key_, true);
  return {};
}

Status InterPodAffinity::Score(const Attempt& attempt, const RowSet& feasible,
                               framework::ScoreColumn& scores) const {
  if (attempt.state().Read(score_key_) == nullptr) return Status::Error(kNoPreScoreState);
  const auto values = scores.Mutable();
  for (const DomainCounts& counts : attempt.Buffer(sums_).scores.all()) {
    const std::vector<std::uint32_t>& domain = counts.topology->domain;
    feasible.ForEach([&](std::size_t row) {
      if (domain[row] != cluster::Topology::kNoDomain) values[row] += counts.by_domain[domain[row]];
    });
  }
  return {};
}

Status InterPodAffinity::Normalize(const Attempt& attempt, const RowSet& feasible,
                                   framework::ScoreColumn& scores) const {
  if (attempt.state().Read(score_key_) == nullptr) return Status::Error(kNoPreScoreState);
  const auto values = scores.Mutable();
  std::int64_t lowest = INT64_MAX;
  std::int64_t highest = INT64_MIN;
  feasible.ForEach([&](std::size_t row) {
    lowest = std::min(lowest, values[row]);
    highest = std::max(highest, values[row]);
  });
  if (lowest == highest) {
    scores.SetAll(0);
    return {};
  }
  const auto range = static_cast<double>(highest - lowest);
  constexpr auto kBest = static_cast<double>(framework::kMaxScore);
  feasible.ForEach([&](std::size_t row) {
    values[row] = static_cast<std::int64_t>(kBest * (static_cast<double>(values[row] - lowest) / range));
  });
  return {};
}

}  // namespace berth::plugins
