// `berth explain`: explains from a dump of the cluster where pending pods would be placed.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth::explain {

struct ExplainOptions {
  std::vector<std::string> files;          // JSON or YAML of Kubernetes objects; "-": standard input
  std::string config;                      // path of a configuration; empty: the default configuration
  std::vector<std::string> feature_gates;  // as the scheduler's flag
  std::vector<std::string> pods;           // "namespace/name"; empty: all pending pods
  std::string output = "text";             // "text" or "json"
  bool all_nodes = false;                  // text: the result of every node
  bool details = false;                    // json: with details of rejections
  bool offline = false;                    // call neither extenders nor Prometheus
  std::string sources;                     // file of --berth-metric-sources
  std::vector<std::string> plugins;        // shared objects
};

// Prints one explanation per pod to standard output, notes to standard error. Returns the exit code: 0: all
// pods were evaluated; 2: some objects could not be read, the others were evaluated. An error is unusable
// input or an unusable configuration. Must be called before this process has other threads.
Expected<int> RunExplain(const ExplainOptions& options, const runtime::Registry& built_in);

}  // namespace berth::explain
