// Events on their way to the API server.
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
  std::size_t queue_capacity = 1000;  // as client-go
  std::size_t max_in_flight = 16;
  std::size_t series_remembered = 4096;
  // Whether more important writes are waiting; then events go one at a time. May be empty; asked on the loop.
  std::function<bool()> under_pressure{};
  std::uint64_t seed = 1;
};

// Sends events.k8s.io/v1 as client-go 0.37's recorder does: a repetition (see EventRecord::SeriesKey) is a
// patch of the first event's series, further ones are counted in memory and written every 30 minutes and
// after 6 minutes of silence. An event the server refuses is given up; one that does not reach it is tried 12
// times, 10 s apart.
//
// Never blocks and never grows: what does not fit the queue, waiting retries included, is dropped and counted
// in berth_events_dropped_total. Only warnings take part in series: a pod is scheduled once, failures repeat.
//
// Emit is safe from any thread. The destructor drops what is left. What is handed in outlives it.
class EventSink final : public ports::EventSink {
 public:
  EventSink(http::Loop& loop, Api& api, const Clock& clock, metrics::Registry& registry,
            EventSinkOptions options);
  ~EventSink() override;
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;

  void Emit(ports::Event event) override;
  // Calls `idle` once, on the loop, when nothing is queued or on its way; events that wait for another try do
  // not count. From any thread; not called after the destructor has begun.
  void WhenIdle(std::move_only_function<void()> idle);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::client
