// Advice for a pod that is gated because its group has too few members.
#pragma once

#include <vector>

#include "scheduler/assembly/pod_evaluator.hpp"
#include "scheduler/explanation/explanation.hpp"

namespace berth::explanation {

// The number of pods to create, if the members and copies of this pod in place of the missing ones fit
// together when they are placed one after the other. Empty: the group has enough members, more than
// kMostMissing are missing, more than kMostPlaced would have to be placed, or they do not fit. One evaluation
// per pod to place. Leaves the cluster as it was.
inline constexpr std::size_t kMostMissing = 32;
inline constexpr std::size_t kMostPlaced = 60;
std::vector<Advice> AdviceToCompleteGroup(assembly::PodEvaluator& evaluator, const api::PodPtr& pod);

}  // namespace berth::explanation
