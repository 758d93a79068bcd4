// Runs a plan: API server, controllers, kubelets and two schedulers on virtual time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/faults/plan.hpp"
#include "tests/faults/timeline.hpp"

namespace berth::faults {

struct RunResult {
  std::vector<std::string> violations;          // empty: all invariants hold
  std::uint64_t digest = 0;                     // of the timeline
  std::map<std::string, std::uint64_t> counts;  // of bindings, requests and injected faults
  Duration simulated{};
};

// What a run writes besides its result.
struct RunOutputs {
  LineSink timeline = [](const std::string&) {};
  // A new directory, for a directory with the recording of each scheduler. Empty: they exist only during the
  // run.
  std::filesystem::path recordings = {};
};

// Equal plans give equal results. After the last step has ended, the cluster has kSettleTime to bind
// every pod that can be bound.
RunResult Run(const Plan& plan, const RunOutputs& outputs);

// The lease of a killed leader expires after 15 s, a silent watch is reopened after 90 s, a pod's back-off
// lasts at most 10 s. Shorter than the 5 min after which the scheduler retries every pod without a reason.
inline constexpr std::chrono::seconds kSettleTime{150};

}  // namespace berth::faults
