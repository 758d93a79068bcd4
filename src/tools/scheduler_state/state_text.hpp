// The text form of the reports of the scheduler's API (docs/guide/scheduler-api.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "config/value.hpp"

namespace berth::scheduler_state {

struct StateTextOptions {
  std::int64_t now = 0;   // Unix seconds; times are printed as ages
  std::size_t width = 0;  // columns; 0: lines are not wrapped
};

// Of `status`: a table of names and values. `where` names the scheduler.
std::string StatusText(const config::Value& status, const std::string& where);

// Of `queue`: counts, then a table of pods. Ends with the number of pods that are not shown.
std::string QueueText(const config::Value& queue, const StateTextOptions& options);

// Of `pods/NAMESPACE/NAME`: its place in the queue, the next retry and the last attempts.
std::string PodText(const config::Value& pod, const std::string& where, const StateTextOptions& options);

}  // namespace berth::scheduler_state
