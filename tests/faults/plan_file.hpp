// A plan as a JSON document: what a run needs to be repeated exactly.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "tests/faults/plan.hpp"

namespace berth::faults {

// One step per line. Times are whole milliseconds. `extender`: 0 none, 1 required, 2 ignorable.
std::string WritePlan(const Plan& plan);
// The inverse of WritePlan. Errors name the field, its value and what is expected. At most 1 MiB.
Expected<Plan> ReadPlan(std::string_view text);

}  // namespace berth::faults
