// Repeats a recording with the production scheduler.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "scheduler/cluster/cluster_state.hpp"
#include "scheduler/runtime/registry.hpp"
#include "tools/replay/steps.hpp"

namespace berth::replay {

struct Repetition {
  std::uint64_t steps = 0;
  std::uint64_t attempts = 0;  // scheduling attempts that were the same
  Duration covered{};          // from the first to the last reading of the clock
  // Readings that a step had left over, or lacked. A recording with tracing has some; decisions can depend on
  // them only by the order of waiting pods.
  std::uint64_t deviations = 0;
  struct Difference {
    std::uint64_t line = 0;
    std::string what;                // the step
    std::string recorded, repeated;  // JSON
  };
  std::optional<Difference> difference;  // the first one ends the repetition
  // Why parts were skipped; after each the repetition continued at the next snapshot.
  std::vector<std::string> skipped;
  std::string ended_by;  // why the rest cannot be repeated; empty: there is no rest
};

// At a snapshot the state must be the recorded one. `progress` is called from time to time. Errors are those
// of the configuration in the header.
Expected<Repetition> Repeat(Steps& steps, const runtime::Registry& plugins,
                            const std::function<void(const Repetition&)>& progress);

// The state between two steps, valid during the call that passes it.
struct Moment {
  const Objects& objects;                // as the scheduler received them
  const cluster::ClusterState& cluster;  // as it sees them, with assumed pods
};

// Repeats up to the step at this line and calls `visit` before it. Fails if the recording cannot be repeated
// that far; the error says why.
Expected<void> RepeatUntil(std::uint64_t line, Steps& steps, const runtime::Registry& plugins,
                           const std::function<void(const Moment&)>& visit,
                           const std::function<void(const Repetition&)>& progress);

}  // namespace berth::replay
