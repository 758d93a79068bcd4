// `berth status` and `berth queue`: what the running scheduler reports about itself.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "tools/scheduler_access/access_options.hpp"

namespace berth::scheduler_state {

struct StatusOptions {
  scheduler_access::AccessOptions access;
  std::string output = "text";  // "text", "json" or "yaml"
};

struct QueueOptions {
  scheduler_access::AccessOptions access;
  std::string ns, place, plugin;  // select pods; empty: all
  std::uint32_t limit = 100;      // of the pods that are listed; 0 to 1000
  std::uint32_t offset = 0;
  std::string output = "text";
};

// Print the report to standard output: a text, or the scheduler's JSON. Return exit code 0; an error if the
// scheduler cannot be found, reached or read. Must be called before this process has other threads.
Expected<int> RunStatus(const StatusOptions& options);
Expected<int> RunQueue(const QueueOptions& options);

}  // namespace berth::scheduler_state
