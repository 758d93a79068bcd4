// Runs a workload with one configuration on virtual time.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "config/scheduler_config.hpp"
#include "scheduler/runtime/registry.hpp"
#include "simulation/recording_options.hpp"
#include "tools/simulate/result.hpp"
#include "tools/simulate/workload.hpp"

namespace berth::simulate {

// Called for every binding, at its time.
using Placements = std::function<void(Duration simulated, const api::Pod& pod)>;

struct RunOptions {
  std::string configuration;   // its name in the result
  std::uint64_t seed = 1;      // of arrivals, lifetimes, failures and the choice between equal nodes
  std::size_t samples = 200;   // over the whole time
  Placements placements = {};  // may be empty
  simulation::RecordingOptions recording = {};
};

// Called after each sample with the simulated time and the number of bindings.
using Progress = std::function<void(Duration simulated, std::uint64_t bindings)>;

// Arrivals, lifetimes and failures depend only on workload and seed, so that configurations are compared on
// the same input. If `stop` is set, the result covers the time until then. Errors are those of the
// configuration, and a workload with too many pods at the same time. Memory is bounded by the workload, its
// pods that exist at the same time, and the number of samples.
Expected<Result> RunWorkload(const Workload& workload, const config::SchedulerConfig& config,
                             const runtime::Registry& plugins, const RunOptions& options,
                             const std::atomic<bool>& stop, const Progress& progress);

}  // namespace berth::simulate
