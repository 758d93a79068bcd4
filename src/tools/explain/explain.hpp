// `berth explain`: explains where pods would be placed or why they are pending, from a dump or from a
// cluster.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "scheduler/runtime/registry.hpp"
#include "tools/explain/cluster_source.hpp"

namespace berth::explain {

struct ExplainOptions : ClusterSelection {
  std::vector<std::string> pods;     // "pod/name", "namespace/name" or "name"; empty: all pods without a node
  std::string ns;                    // of names without one; empty: that of the context, else "default"
  std::string output = "text";       // "text", "wide", "json" or "yaml"
  bool details = false;              // json, yaml: with details of rejections
  bool offline = false;              // call neither extenders nor Prometheus
  std::string sources;               // file of --berth-metric-sources
  std::vector<std::string> plugins;  // shared objects
};

// Without `config`, a cluster is evaluated with the configuration of its scheduler if that can be read; a
// note names the one that was used. Extenders and Prometheus servers of such a configuration are not
// contacted: their addresses are those of the cluster's own network.
//
// Prints explanations to standard output, notes and warnings to standard error. Sends GET requests only.
// Returns the exit code: 0: all pods were evaluated; 2: some objects could not be read, the others were
// evaluated. An error is unusable input, an unusable configuration or an unreachable cluster. Must be called
// before this process has other threads.
Expected<int> RunExplain(const ExplainOptions& options, const runtime::Registry& built_in);

}  // namespace berth::explain
