// Runs a performance test with one configuration on virtual time.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "config/scheduler_config.hpp"
#include "kubernetes/api/pod.hpp"
#include "scheduler/runtime/registry.hpp"
#include "tools/scheduler_perf/operations.hpp"
#include "tools/scheduler_perf/result.hpp"

namespace berth::scheduler_perf {

struct RunTestOptions {
  std::string configuration;  // its name in the result
  std::uint64_t seed = 1;     // of the choice between equal nodes
  // Called for every binding, at its time; may be empty.
  std::function<void(Duration at, const api::Pod& pod)> placements = {};
  // Called before each operation with its number from 0; may be empty.
  std::function<void(std::size_t operation)> progress = {};
};

// The operations run one after the other, each until it is complete, as in scheduler_perf; churn and
// operations with skipWaitToCompletion continue beside the following ones. Clients create an object each 200
// us of virtual time, the limit of 5,000 requests per second of scheduler_perf's client. An operation that
// waits for pods checks once a second and fails after ten minutes of virtual time. If `stop` is set, the
// result covers the time until then. Errors name the operation. All of the result but the CPU time depends on
// nothing but the arguments.
Expected<TestResult> RunTest(const PerformanceTest& test, const config::SchedulerConfig& config,
                             const runtime::Registry& plugins, const RunTestOptions& options,
                             const std::atomic<bool>& stop);

}  // namespace berth::scheduler_perf
