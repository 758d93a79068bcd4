// Runs plans in child processes, so that a crash, a failed check or an endless loop is a result, too.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "tests/faults/plan.hpp"
#include "tests/faults/simulation.hpp"

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

// Run, or a function with further invariants.
using Runner = std::function<RunResult(const Plan&, const RunOutputs&)>;

struct ChildRunOptions {
  std::size_t jobs = 1;
  // Run each plan twice: different timelines are a violation, and so is memory that the second run has not
  // released.
  bool repeat = false;
  std::chrono::seconds timeout{120};  // of one plan, by the system's clock
  Runner run = Run;
};

// Calls next() for each plan until it returns nullopt, and done() for each outcome, in no defined order.
void RunInChildren(const ChildRunOptions& options, const std::function<std::optional<Plan>()>& next,
                   const std::function<void(Outcome)>& done);

// The outcome of one plan.
Outcome RunInChild(const Plan& plan, const ChildRunOptions& options);

// Runs the plan in a child process and writes plan.json, timeline.txt, log.txt (of the schedulers, with
// verbosity 4) and, if the plan has recordings, recordings/ to `directory`, which is created. A run that does
// not end is ended after options.timeout; what it has written until then stays. Errors: the directory or a
// file cannot be written.
Expected<void> KeepRun(const Plan& plan, const ChildRunOptions& options, const std::string& directory);

}  // namespace berth::faults
