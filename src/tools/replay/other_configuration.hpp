// Compares the decisions of a recording with those of another configuration.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.hpp"
#include "config/scheduler_config.hpp"
#include "scheduler/runtime/registry.hpp"
#include "tools/replay/steps.hpp"

namespace berth::replay {

struct OtherDecisions {
  std::uint64_t steps = 0;
  std::string text, json;  // the report, as of --berth-shadow
  std::string ended_by;    // why the rest was not compared; empty: there is no rest
};

// Each recorded decision is made again with `config` in the cluster as it was then, as --berth-shadow does:
// what would have followed from other decisions is not followed. Errors are those of the configuration.
Expected<OtherDecisions> Compare(Steps& steps, const config::SchedulerConfig& config,
                                 const runtime::Registry& plugins,
                                 const std::function<void(std::uint64_t steps)>& progress);

}  // namespace berth::replay
