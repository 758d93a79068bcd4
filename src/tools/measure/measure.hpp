// `berth measure`: queries the measurements of load-aware plugins once and prints them.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth::measure {

struct MeasureOptions {
  std::vector<std::string> files;    // JSON or YAML of the cluster's nodes; "-": standard input
  std::string config;                // path of a configuration with load-aware plugins
  std::string sources;               // file of --berth-metric-sources
  std::vector<std::string> plugins;  // shared objects
  bool values = false;               // print the value of each node
};

// Prints each measurement to standard output. Returns the exit code: 0: all nodes were measured; 2: a query
// failed or nodes have no value. An error is unusable input or an unusable configuration. Must be called
// before this process has other threads.
Expected<int> RunMeasure(const MeasureOptions& options, const runtime::Registry& built_in);

}  // namespace berth::measure
