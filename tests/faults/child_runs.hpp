// Runs plans in child processes, so that a crash, a failed check or an endless loop is a result, too.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/faults/plan.hpp"

namespace berth::faults {

struct Outcome {
  std::uint64_t seed = 0;
  std::vector<std::string> violations;  // empty: all invariants hold
  std::uint64_t digest = 0;
  std::map<std::string, std::uint64_t> counts;
  std::string output;  // the end of standard error, if the process did not end properly

  // "no pod is lost"; empty if all invariants hold.
  std::string invariant() const;
};

struct ChildRunOptions {
  std::size_t jobs = 1;
  bool repeat = false;                // run each plan twice: different timelines are a violation
  std::chrono::seconds timeout{120};  // of one plan, by the system's clock
};

// Calls next() for each plan until it returns nullopt, and done() for each outcome, in no defined order.
void RunInChildren(const ChildRunOptions& options, const std::function<std::optional<Plan>()>& next,
                   const std::function<void(Outcome)>& done);

// Leaves out steps as long as the same invariant is violated. Returns the smallest plan found. `progress` is
// called before each run with the number of steps left.
Plan Shrink(const Plan& plan, const std::string& invariant, const ChildRunOptions& options,
            const std::function<void(std::size_t)>& progress);

}  // namespace berth::faults
