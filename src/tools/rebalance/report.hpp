// The text and the JSON form of a plan and its execution.
#pragma once

#include <string>
#include <vector>

#include "tools/rebalance/executor.hpp"
#include "tools/rebalance/plan.hpp"

namespace berth::rebalance {

// `outcomes`: of the first moves; empty: none was tried.
std::string PlanText(const Plan& plan, const std::vector<EvictionOutcome>& outcomes);
// One JSON object with a newline.
std::string PlanJson(const Plan& plan, const std::vector<EvictionOutcome>& outcomes);
// One line.
std::string Summary(const Plan& plan, const std::vector<EvictionOutcome>& outcomes);

}  // namespace berth::rebalance
