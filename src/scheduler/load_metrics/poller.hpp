// Asks for all signals of all sources again and again, and hands the answers to the scheduler's loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/load_metrics/signal_table.hpp"
#include "scheduler/load_metrics/query_client.hpp"
#include "scheduler/load_metrics/source_settings.hpp"

namespace berth::http {
class Loop;
}
namespace berth::metrics {
class Registry;
}

namespace berth::load_metrics {

// A source has stopped answering (some of its queries at least), or answers again.
struct SourceNews {
  std::string source;
  bool failing = false;
  std::string why;
};

struct PollerParts {
  http::Loop& loop;  // where queries are sent and answers are read: not the one that serves the API server
  SignalTable& measurements;
  framework::Poster post;  // to the scheduler's loop, whose the measurements are
  metrics::Registry& metrics;
  SourceParts world;
  std::function<void(const SourceNews&)> told = {};  // on `loop`; may be empty
  std::uint64_t seed = 1;
};

// One query per signal and poll, whatever the number of nodes; sources are polled independently of each
// other, each in rounds that begin one interval (a twentieth more or less) apart, or as soon as the round
// before has ended. A query that fails leaves the others alone; its signal is told, and keeps or loses its
// values by its own rules.
//
// Metrics: berth_measurement_*. PluginOrError and destroyed on any thread but the loop's; the parts outlive it.
class Poller {
 public:
  // The signals that have been declared by now. Errors: sources that cannot be used, with the signal that
  // wants them.
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
