// Polls all signals of all sources periodically and passes the results to the scheduler loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/load_metrics/query_client.hpp"
#include "scheduler/load_metrics/signal_table.hpp"
#include "scheduler/load_metrics/source_settings.hpp"

namespace berth::http {
class Loop;
}
namespace berth::metrics {
class Registry;
}

namespace berth::load_metrics {

// A source has become unavailable (for some of its queries at least), or available again.
struct SourceChange {
  std::string source;
  bool failing = false;
  bool has_answered = false;  // at least one query, ever: otherwise there are no last values
  std::string error;
};

struct PollerParts {
  http::Loop& loop;  // sends queries and parses responses; not the loop that serves the API server
  SignalTable& measurements;
  framework::Poster post;  // posts to the scheduler loop, which owns the measurements
  // Posts the work that passes this result to `measurements`; in the order of the calls of `post`, too.
  using ResultPoster = std::function<void(const PollResult& result, std::move_only_function<void()> work)>;
  ResultPoster post_result;
  metrics::Registry& metrics;
  SourceParts access;
  std::function<void(const SourceChange&)> on_source_change = {};  // called on `loop`; may be empty
  std::uint64_t seed = 1;
};

// Sends one query per signal and poll, independent of the number of nodes. Sources are polled independently
// of each other, in rounds that begin one interval (+-5 %) apart, or as soon as the previous round has ended.
// At the start, up to ten rounds with failures are repeated after one second.
// A failed query does not affect the others; its signal is marked as failed and keeps or loses its values by
// its own rules. If a source is too slow to answer all queries of a round, those that were late come first in
// the next one.
//
// Metrics: berth_measurement_*. Constructed and destroyed on any thread but the loop's; the parts must
// outlive it.
class Poller {
 public:
  // Polls the signals that are declared at the time of the call. Errors: unusable sources, with the signal
  // that requires them.
  static Expected<std::unique_ptr<Poller>> Start(const std::vector<SourceSettings>& sources,
                                                 PollerParts parts);
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

 private:
  struct Impl;
  explicit Poller(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::load_metrics
