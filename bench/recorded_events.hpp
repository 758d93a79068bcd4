// Clusters and pods from a file of watch events, as bench_decisions --dump prints them.
#pragma once

#include "bench/workloads.hpp"

namespace berth::bench {

struct RecordedWorkload {
  Workload workload;
  Size size;  // the nodes and pending pods in the file
};

// Reads {"type": "ADDED", "object": {...}} from each line. Ends the program with a message if the file cannot
// be read, a line has another form, or no pod is pending.
RecordedWorkload ReadEvents(const std::string& path);

}  // namespace berth::bench
