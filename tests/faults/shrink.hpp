// Makes a failing plan smaller.
#pragma once

#include <cstddef>
#include <functional>

#include "tests/faults/plan.hpp"

namespace berth::faults {

// Whether a run of the plan still violates the invariant.
using Violates = std::function<bool(const Plan&)>;

// Leaves out steps, nodes, pod groups and the extender, halves numbers of pods, durations and the time
// between steps, and makes the latency constant, as long as `violates` returns true. Returns a plan for which
// none of these changes does, or the smallest one after `max_runs` calls. `plan` must violate the invariant.
// Deterministic.
Plan Shrink(const Plan& plan, const Violates& violates, std::size_t max_runs = 3'000);

}  // namespace berth::faults
