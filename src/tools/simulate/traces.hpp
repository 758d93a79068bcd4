// Recorded traces as part of a workload.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/simulate/workload.hpp"

namespace berth::simulate {

struct TraceSource {
  std::string format = {};            // one of TraceFormats()
  std::string nodes = {}, pods = {};  // CSV files
  std::string gpus = "whole";         // how parts of a GPU are requested: whole, milli, devices
  std::string order = "recorded";  // or "shuffled": in random order, one after the other, and without an end
  Duration interval{};             // shuffled: between two pods
  std::uint64_t seed = 1;          // of the random order
  double speed = 1;                // recorded times are divided by it
  double demand = 0;     // shuffled: requested GPUs divided by those of the nodes; 0: the pods of the trace
  bool recreate = true;  // a controller replaces evicted pods
};

const std::vector<std::string>& TraceFormats();

// Adds the nodes and pods of the trace. Sets the duration if it is zero: the last arrival or end. Errors name
// file, line and column.
Expected<void> AddTrace(const TraceSource& source, Workload& workload);

}  // namespace berth::simulate
