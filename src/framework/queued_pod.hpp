// A pod on its way through the queue.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "framework/pod_info.hpp"

namespace berth::framework {

struct QueuedPod {
  PodInfo info;
  std::uint32_t profile = 0;  // which of the scheduler's profiles decides

  MonoTime timestamp;            // when it was last put into a queue
  MonoTime created;              // when it first became known to the queue
  MonoTime first_attempt_ready;  // when it first entered activeQ; epoch: never
  MonoTime attempt_started;      // of the last attempt
  std::int32_t attempts = 0;
  std::int32_t unschedulable_count = 0;  // attempts that ended in a rejection: they drive the back-off
  std::int32_t consecutive_errors = 0;   // attempts since the last rejection that ended in an error
  std::vector<std::string> rejectors;    // plugins that rejected it the last time
  bool pending = false;                  // one of them answered Pending: no back-off when it is freed
  std::string gated_by;                  // the PreEnqueue plugin that keeps it out; empty: not gated
};
using QueuedPodPtr = std::shared_ptr<QueuedPod>;

}  // namespace berth::framework
