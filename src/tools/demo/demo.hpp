// `berth demo`: a sandbox, a scheduler and thousands of pods, with a report of where the pods were placed.
#pragma once

#include <cstdint>
#include <string>

#include "tools/demo/workload.hpp"

namespace berth::demo {

struct DemoOptions {
  ClusterSize size;
  std::size_t pods = 10000;
  std::uint64_t seed = 1;
  std::uint16_t port = 0;   // of the sandbox's API server; 0: a free one
  bool keep = false;        // keep the cluster running until a signal arrives
  bool gpu_claims = false;  // GPUs are devices that a DeviceClass provides as nvidia.com/gpu
  // Command line of another scheduler, with the placeholders {kubeconfig} and {config}; empty: berth
  // scheduler.
  std::string scheduler_command;
};

// Runs the demonstration, with sandbox and scheduler as child processes, which it ends. Prints progress and
// report to standard output. Returns the exit code: 0; 1 after an error, which has been printed; 130 after
// SIGINT or SIGTERM, but 0 if they end a cluster that `keep` has kept running after the report. Handles these
// signals for the whole process.
int RunDemo(const DemoOptions& options);

}  // namespace berth::demo
