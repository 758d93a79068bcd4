// The state of a scheduler between two units of work, as a value.
#pragma once

#include "base/clock.hpp"
#include "scheduler/algorithm/scheduling_algorithm.hpp"
#include "scheduler/queue/scheduling_queue.hpp"

namespace berth::cycle {

// What decisions depend on besides the objects of the cluster, the configuration and later inputs.
struct SchedulerState {
  algorithm::SchedulingAlgorithm::Start algorithm;
  MonoTime next_release;
  queue::SavedQueue queue;
  friend bool operator==(const SchedulerState&, const SchedulerState&) = default;
};

}  // namespace berth::cycle
