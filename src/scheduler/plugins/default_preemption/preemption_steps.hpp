// The steps of a preemption around the dry runs, for all plugins that evict pods for a single pod.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "observability/metrics/registry.hpp"
#include "scheduler/framework/filter_outcome.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/framework/preemption.hpp"
#include "scheduler/plugins/default_preemption/candidates.hpp"

namespace berth::plugins {

// The number of nodes per reason why they are no candidates.
using ReasonCounts = std::map<std::string, std::size_t, std::less<>>;

inline std::vector<std::pair<std::string, std::size_t>> ToList(const ReasonCounts& counts) {
  return {counts.begin(), counts.end()};
}

// Why a pod must not preempt.
inline constexpr std::string_view kNeverPreempts = "not eligible due to preemptionPolicy=Never.";
inline constexpr std::string_view kVictimsAreLeaving =
    "not eligible due to a terminating pod on the nominated node.";

// scheduler_preemption_attempts_total. Null: no metrics are collected.
metrics::Counter* PreemptionAttempts(metrics::Registry* registry);

// Rows with the verdict Unschedulable: eviction cannot help on the others, or they wait for an external
// component.
RowSet PotentialRows(const framework::FilterOutcome& verdicts, const cluster::NodeTable& nodes);

void CountRejections(const framework::FilterOutcome& outcome, const framework::Reasons& reasons,
                     ReasonCounts& counts);

// The message if no node is a candidate; `tried` rows were evaluated.
std::string NoCandidateMessage(ReasonCounts counts, std::size_t tried, const cluster::NodeTable& nodes);

// Calls the reviewers in this order until no candidate is left.
framework::Status RunReviewers(std::span<framework::PreemptionReviewer* const> reviewers,
                               const cluster::PodInfo& pod, std::vector<Candidate>& candidates);

// What is nominated and evicted for the best one of the candidates, of which there must be at least one. Of
// equally good ones a random one is chosen; without `rng` the first by name.
framework::PostFilterResult NominateBest(const std::vector<Candidate>& candidates,
                                         const cluster::NodeTable& nodes, Random* rng);

}  // namespace berth::plugins
