// Possible victims of one preemption that plugins protect, and why.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "scheduler/framework/eviction_protection.hpp"
#include "scheduler/plugins/default_preemption/candidates.hpp"
#include "scheduler/plugins/default_preemption/preemption_steps.hpp"
#include "scheduler/plugins/default_preemption/victim_units.hpp"

namespace berth::plugins {

// Why pods must not be evicted.
struct Refusals {
  std::map<std::string, std::size_t, std::less<>> pods = {};  // the number of pods per reason
  std::string together = {};  // the reason why victims must not be evicted together; empty: none
  std::string error = {};     // the first error of a plugin; empty: none

  bool any() const { return !pods.empty() || !together.empty(); }
};

// Calls the plugins of the profile, and collects their refusals. A pod or set of pods for which a plugin
// returned an error is refused, too. Without such plugins everything may be evicted. Scheduler loop only.
class EvictionCheck {
 public:
  // Both must outlive this object.
  EvictionCheck(framework::EvictionProtections& protections, const framework::Preemptor& preemptor)
      : protections_(protections), preemptor_(preemptor) {}

  // Whether no plugin protects pods.
  bool empty() const { return protections_.empty(); }
  bool MayEvict(const api::Pod& pod);
  bool MayEvict(const VictimUnit& unit);
  bool MayEvictTogether(std::span<const Importance::Entry> victims);
  bool MayEvictTogether(std::span<const api::PodPtr> victims);
  // The refusals since the last call.
  Refusals Take();

 private:
  bool AllowsTogether();

  framework::EvictionProtections& protections_;
  const framework::Preemptor preemptor_;
  std::vector<const api::Pod*> together_;
  Refusals refusals_;
};

// Counts a node with these refusals, once per reason.
void CountRefusals(const Refusals& refusals, ReasonCounts& counts);
// The same for a pod group: "2 pods must not be evicted (reason)", joined by ", ".
std::string DescribeRefusals(const Refusals& refusals);
// Calls the reviewers (RunReviewers). Candidates that the plugins refuse are removed after that, because
// reviewers may have changed the victims.
framework::Status ReviewCandidates(std::span<framework::PreemptionReviewer* const> reviewers,
                                   const cluster::PodInfo& pod, EvictionCheck& check,
                                   std::vector<Candidate>& candidates);

}  // namespace berth::plugins
