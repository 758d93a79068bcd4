// `berth what-if`: what the scheduler would do after changes of the cluster.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "scheduler/runtime/registry.hpp"
#include "tools/explain/cluster_source.hpp"
#include "tools/scheduler_access/access_options.hpp"
#include "tools/what_if/changes.hpp"
#include "tools/what_if/nodes_needed.hpp"

namespace berth::what_if {

struct WhatIfOptions : explain::ClusterSelection {
  // With a server or a Lease the configuration is that of this scheduler: no files, no `config`. The
  // kubeconfig and context are those of the selection.
  scheduler_access::AccessOptions access;
  std::vector<Change> changes;       // in their order
  std::string ns;                    // of names without one; empty: that of the context
  std::string how_many;              // file with a pod; empty: not asked
  std::vector<NodeShape> shapes;     // how many of these nodes are needed; empty: not asked
  std::string prices;                // file with more of them
  bool consolidate = false;          // which nodes could be emptied
  std::string compare_config;        // another configuration; empty: not asked
  bool running_pods = false;         // compare the placements of running pods, too
  std::uint64_t seed = 1;            // of the choice between equal nodes
  std::string output = "text";       // text or json
  std::vector<std::string> plugins;  // shared objects
};

// Reads the cluster once and works on a copy: nothing is written. Prints the answer to standard output,
// notes, warnings and progress to standard error. Returns the exit code: 0; 2: some objects could not be
// read, the others were considered. Must be called before this process has other threads.
Expected<int> RunWhatIf(const WhatIfOptions& options, const runtime::Registry& built_in);

}  // namespace berth::what_if
