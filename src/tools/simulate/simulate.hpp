// `berth simulate`: runs a workload on virtual time with one or more configurations and prints a report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "scheduler/runtime/registry.hpp"
#include "simulation/recording_options.hpp"

namespace berth::simulate {

struct SimulateOptions {
  std::string workload;  // file; "-": standard input
  std::string test;      // of a file of kube-scheduler's performance tests: "Case/Workload" or "list"
  std::vector<std::string> configs;  // KubeSchedulerConfiguration files; empty: the default configuration
  std::vector<std::string> feature_gates;
  std::vector<std::string> plugins;  // shared objects
  std::uint64_t seed = 1;
  std::string placements;                  // CSV file of all bindings; empty: none
  std::string report;                      // HTML file; empty: none
  std::string output = "text";             // text or json
  std::string checkpoint;                  // file with the results of finished configurations; empty: none
  bool resume = false;                     // the file exists, and what it has is not run again
  simulation::RecordingOptions recording;  // only with one configuration
};

// Returns the exit code: 0, or 2 after SIGINT or SIGTERM, when the report covers the time until then. Must be
// called before the process has other threads.
Expected<int> RunSimulate(const SimulateOptions& options, const runtime::Registry& built_in);

}  // namespace berth::simulate
