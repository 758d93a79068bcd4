// `berth simulate --test`: runs one of kube-scheduler's performance tests.
#pragma once

#include <atomic>

#include "base/yaml.hpp"
#include "scheduler/runtime/registry.hpp"
#include "tools/simulate/simulate.hpp"

namespace berth::simulate {

// `root`: the content of options.workload, a list. Without options.test the error tells how to choose.
// Returns the exit code: 0, or 2 if `stop` was set.
Expected<int> RunPerformanceTest(const SimulateOptions& options, const yaml::Value& root,
                                 const runtime::Registry& plugins, const std::atomic<bool>& stop);

}  // namespace berth::simulate
