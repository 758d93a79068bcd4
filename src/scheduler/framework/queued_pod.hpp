// A pod on its way through the queue.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "scheduler/cluster/pod_info.hpp"
#include "observability/tracing/attempt_trace.hpp"

namespace berth::framework {

struct QueuedPod {
  cluster::PodInfo info;
  std::uint32_t profile = 0;  // which of the scheduler's profiles decides

  MonoTime timestamp;            // when it was last put into a queue
  MonoTime first_attempt_ready;  // when it first entered activeQ; epoch: never
  MonoTime attempt_started;      // of the last attempt
  MonoTime backoff_expiry;       // of the last failed attempt; epoch: none
  MonoTime flushed;              // when it was last freed because it had waited too long; epoch: never
  bool was_flushed = false;      // ... and no attempt has ended since
  std::int32_t attempts = 0;
  std::int32_t unschedulable_count = 0;  // attempts that ended in a rejection: they drive the back-off
  std::int32_t consecutive_errors = 0;   // attempts since the last rejection that ended in an error
  // Plugins that rejected it the last time, the one that gates it included, without repetition.
  std::vector<std::string> rejectors;
  std::vector<std::string> pending;   // those of them that answered Pending: no back-off when they free it
  std::uint32_t evaluated_nodes = 0;  // in the last decision that found a node, if the log wants to know
  std::uint32_t feasible_nodes = 0;   // of these
  std::shared_ptr<tracing::AttemptTrace> trace = {};  // of the attempt under way, if it is traced
  std::string gated_by;                      // the PreEnqueue plugin that keeps it out; empty: not gated

  bool gated() const { return !gated_by.empty(); }
};
using QueuedPodPtr = std::shared_ptr<QueuedPod>;

}  // namespace berth::framework
