// The state of a scheduler between two units of work, as a value.
#pragma once

#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "scheduler/algorithm/scheduling_algorithm.hpp"
#include "scheduler/extenders/circuit.hpp"
#include "scheduler/framework/saved_state.hpp"
#include "scheduler/load_metrics/signal_table.hpp"
#include "scheduler/queue/scheduling_queue.hpp"

namespace berth::cycle {

// What decisions depend on besides the objects of the cluster, the configuration and later inputs.
struct SchedulerState {
  algorithm::SchedulingAlgorithm::Start algorithm;
  MonoTime next_release;
  queue::SavedQueue queue;
  load_metrics::SavedSignals measurements;
  std::vector<extenders::Circuit::State> circuits;  // in the order of the extenders
  std::vector<framework::SavedState> plugins;       // those with a state that is not derived, by profile
};

// The same before the states of plugins are encoded.
struct SchedulerCopy {
  SchedulerState state;  // without plugins
  std::vector<framework::CopiedState> plugins;
};
// Any thread. Errors are those of framework::Encode.
Expected<SchedulerState> Encode(SchedulerCopy copy);

}  // namespace berth::cycle
