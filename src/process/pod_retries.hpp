// Retries of waiting pods that an operator requests.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "scheduler/cycle/cluster_loop.hpp"
#include "scheduler/cycle/scheduler.hpp"

namespace berth::process {

// A retry is a decision that other pods wait for, so at most kMostPerSecond are accepted. Retry may be called
// on any thread.
class PodRetries {
 public:
  enum class Outcome : std::uint8_t {
    kRetried,   // the pod, or its group, is in activeQ now
    kActive,    // it was there already
    kInFlight,  // an attempt is in progress, or its binding; if that fails, the pod is retried
    kHeld,      // PreEnqueue plugins hold it
    kUnknown,   // it is not pending in this scheduler
    kTooMany,   // kMostPerSecond is reached
  };
  static constexpr int kMostPerSecond = 10;

  // The arguments must outlive the loop's last iteration.
  PodRetries(cycle::ClusterLoop& loop, cycle::Scheduler& scheduler, const Clock& clock);

  // Retries the pod `key` ("namespace/name") as SchedulingQueue::Activate does: without an event and without
  // a back-off. `take` is called on the loop's thread and must not block; if the loop ends first, it is
  // destroyed without a call.
  using TakeOutcome = std::move_only_function<void(Outcome)>;
  void Retry(std::string key, TakeOutcome take) const;

 private:
  struct State;  // used on the loop's thread
  cycle::ClusterLoop& loop_;
  std::shared_ptr<State> state_;
};

}  // namespace berth::process
