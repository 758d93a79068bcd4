// A pod in the scheduling queue, with the history of its attempts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "observability/tracing/attempt_trace.hpp"
#include "scheduler/cluster/pod_info.hpp"

namespace berth::framework {

// Owned by the queue, which sets all members.
struct QueuedPod {
  cluster::PodInfo info;
  std::uint32_t profile = 0;  // index of the scheduler's profile for this pod

  MonoTime timestamp;            // when it was last put into a queue
  MonoTime first_attempt_ready;  // when it first entered activeQ; epoch: never
  MonoTime attempt_started;      // of the last attempt
  MonoTime backoff_expiry;       // of the last failed attempt; epoch: none
  // when it last left the unschedulable queue because of the timeout; epoch: never
  MonoTime flushed;
  bool was_flushed = false;  // since then, no attempt has ended
  std::int32_t attempts = 0;
  std::int32_t unschedulable_count = 0;  // attempts that ended in a rejection; determines the back-off
  std::int32_t consecutive_errors = 0;   // attempts since the last rejection that ended in an error
  // Plugins that rejected the pod in its last attempt, including the one that gates it; no duplicates.
  std::vector<std::string> rejectors;
  std::vector<std::string> pending;   // those that returned Pending: no back-off when they requeue the pod
  std::uint32_t evaluated_nodes = 0;  // in the last attempt that found a node; set only if it is logged
  std::uint32_t feasible_nodes = 0;   // of the evaluated nodes
  std::shared_ptr<tracing::AttemptTrace> trace = {};  // of the current attempt, if it is traced
  std::string nominated = {};  // the node written to its status in this attempt; `info` may be older
  std::string gated_by;        // the PreEnqueue plugin that gates the pod; empty: not gated

  bool gated() const { return !gated_by.empty(); }
};
using QueuedPodPtr = std::shared_ptr<QueuedPod>;

}  // namespace berth::framework
