// Sends events to the API server.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "kubernetes/ports/ports.hpp"

namespace berth::http {
class Loop;
}
namespace berth::metrics {
class Registry;
}

namespace berth::client {

class Api;

struct EventSinkOptions {
  std::string hostname{};             // reportingInstance is "<controller>-<hostname>"
  std::size_t queue_capacity = 1000;  // as in client-go
  std::size_t max_in_flight = 16;
  std::size_t max_series = 16384;                    // about 1 KB each
  std::size_t max_uncounted = std::size_t{1} << 20;  // about 20 bytes each
  // Whether more important writes are waiting; events are then sent one at a time. May be empty; called on
  // the loop.
  std::function<bool()> under_pressure{};
  std::uint64_t seed = 1;
  // Fraction of the routine events that is sent, from 0 to 1. The pod's UID and the seed determine which.
  double routine_ratio = 1;
};

// Sends events.k8s.io/v1 as client-go 0.37's recorder does: a repetition (see EventRecord::SeriesKey) is a
// patch of the first event's series; further repetitions are counted in memory and written every 30 minutes
// and after 6 minutes without one. An event that the server rejects is dropped; one that does not reach it is
// sent up to 12 times, 10 s apart.
//
// Of more than max_series series, the first event is written, and repetitions are neither written nor
// counted, for up to max_uncounted: otherwise many unschedulable pods would cause a write per attempt.
//
// Of routine events, a fraction is sent; the others are counted in berth_events_left_out_total.
//
// Never blocks; memory is bounded. Events that do not fit into the queue, which includes waiting retries, are
// dropped and counted in berth_events_dropped_total. Only warnings form series: a pod is scheduled once,
// failures repeat.
//
// Emit is thread-safe. The destructor drops unsent events. Constructor arguments must outlive the sink.
class EventSink final : public ports::EventSink {
 public:
  EventSink(http::Loop& loop, Api& api, const Clock& clock, metrics::Registry& registry,
            EventSinkOptions options);
  ~EventSink() override;
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;

  void Emit(ports::Event event) override;
  // Calls `idle` once, on the loop, when no event is queued or in flight; events that wait for a retry do not
  // count. From any thread; not called after the destructor has begun.
  void WhenIdle(std::move_only_function<void()> idle);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::client
