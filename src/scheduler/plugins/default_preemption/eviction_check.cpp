#include "scheduler/plugins/default_preemption/eviction_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace berth::plugins {

using framework::Status;

bool EvictionCheck::MayEvict(const api::Pod& pod) {
  const Status status = protections_.MayEvict(preemptor_, pod);
  if (status.ok()) return true;
  if (status.rejected()) {
    ++refusals_.pods[status.reasons.at(0)];
  } else if (refusals_.error.empty()) {
    refusals_.error = status.Message();
  }
  return false;
}

// The reasons of all of its pods are counted.
bool EvictionCheck::MayEvict(const VictimUnit& unit) {
  bool all = true;
  together_.clear();
  for (const VictimUnit::Victim& victim : unit.pods) {
    all = MayEvict(*victim.pod->pod) && all;
    together_.push_back(victim.pod->pod.get());
  }
  return all && (unit.pods.size() == 1 || AllowsTogether());
}

bool EvictionCheck::MayEvictTogether(std::span<const Importance::Entry> victims) {
  if (empty()) return true;
  together_.clear();
  for (const Importance::Entry& victim : victims) together_.push_back(victim.pod->pod.get());
  return AllowsTogether();
}

bool EvictionCheck::MayEvictTogether(std::span<const api::PodPtr> victims) {
  if (empty()) return true;
  together_.clear();
  for (const api::PodPtr& victim : victims) together_.push_back(victim.get());
  return AllowsTogether();
}

bool EvictionCheck::AllowsTogether() {
  const Status status = protections_.MayEvictTogether(preemptor_, together_);
  if (status.ok()) return true;
  (status.rejected() ? refusals_.together : refusals_.error) = status.Message();
  return false;
}

Refusals EvictionCheck::Take() { return std::exchange(refusals_, {}); }

void CountRefusals(const Refusals& refusals, ReasonCounts& counts) {
  for (const auto& [reason, pods] : refusals.pods)
    ++counts[fmt::format("node(s) had pods that must not be evicted ({})", reason)];
  if (!refusals.together.empty())
    ++counts[fmt::format("node(s) had victims that must not be evicted together ({})", refusals.together)];
}

std::string DescribeRefusals(const Refusals& refusals) {
  std::vector<std::string> parts;
  for (const auto& [reason, pods] : refusals.pods)
    parts.push_back(fmt::format("{} pods must not be evicted ({})", pods, reason));
  if (!refusals.together.empty())
    parts.push_back(fmt::format("pods must not be evicted together ({})", refusals.together));
  return fmt::format("{}", fmt::join(parts, ", "));
}

Status ReviewCandidates(std::span<framework::PreemptionReviewer* const> reviewers,
                        const cluster::PodInfo& pod, EvictionCheck& check,
                        std::vector<Candidate>& candidates) {
  if (Status status = RunReviewers(reviewers, pod, candidates); !status.ok()) return status;
  if (reviewers.empty() || check.empty()) return {};
  std::vector<Importance::Entry> buffer;
  std::erase_if(candidates, [&](const Candidate& candidate) {
    const auto victims = VictimsOf(candidate, buffer);
    return !std::ranges::all_of(victims, [&](const auto& victim) {
      return check.MayEvict(*victim.pod->pod);
    }) || !check.MayEvictTogether(victims);
  });
  return {};
}

}  // namespace berth::plugins
