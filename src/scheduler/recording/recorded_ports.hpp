// The ports of a scheduler, which are recorded if there is a recorder.
#pragma once

#include <memory>

#include "base/clock.hpp"
#include "base/lease_fence.hpp"
#include "kubernetes/ports/ports.hpp"
#include "scheduler/cycle/loop_journal.hpp"
#include "scheduler/extenders/transport.hpp"
#include "scheduler/load_metrics/signal_table.hpp"
#include "scheduler/recording/recorder.hpp"

namespace berth::recording {

// Everything that is given to it must outlive this object, which must outlive the scheduler.
class RecordedPorts {
 public:
  // `recorder` is null if nothing is recorded: each port is then the given one itself.
  RecordedPorts(Recorder* recorder, const Clock& clock, const Fence& fence);

  // What the scheduler's loop uses.
  const Clock& clock() const { return clock_; }
  cycle::LoopJournal& journal() const { return journal_; }
  const Fence& fence() const { return fence_; }
  // To be called once. The result lives as long as this object.
  ports::ApiWriter& Watch(ports::ApiWriter& writer);
  extenders::TransportMaker Watch(extenders::TransportMaker make) const;
  // The origin of the work that passes the result to the scheduler. Any thread.
  cycle::Origin OriginOf(const load_metrics::PollResult& result) const;

 private:
  Recorder* const recorder_;
  const std::unique_ptr<Fence> watched_fence_;        // null: nothing is recorded
  std::unique_ptr<ports::ApiWriter> watched_writer_;  // null: nothing is recorded, or before Watch
  const Clock& clock_;
  cycle::LoopJournal& journal_;
  const Fence& fence_;
};

}  // namespace berth::recording
