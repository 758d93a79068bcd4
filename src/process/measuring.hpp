// What the plugins want measured, asked for in the background.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "kubernetes/client/environment.hpp"
#include "scheduler/cycle/scheduler.hpp"
#include "scheduler/framework/handle.hpp"
#include "http/io_thread.hpp"
#include "observability/metrics/registry.hpp"
#include "scheduler/load_metrics/poller.hpp"

namespace berth::process {

struct MeasuringParts {
  const std::string& sources_file;  // of --berth-metric-sources; empty: none
  framework::Handle& handle;
  cycle::Scheduler& scheduler;
  const client::Environment& environment;
  const Clock& clock;
  metrics::Registry& metrics;
  ports::EventSink& events;  // told, for all to see, when a source fails and when it is well again
  const std::string& hostname;
};

// On a thread of its own: megabytes of measurements must not keep bindings waiting.
class Measuring {
 public:
  // After all plugins are built and before pods are delivered to the scheduler. Null if nobody wants anything
  // measured. What is handed in outlives it. Errors name the file or the signal.
  static Expected<std::unique_ptr<Measuring>> Start(const MeasuringParts& parts);
  // The scheduler has been told of all nodes. Answers that were here sooner have waited for this: series of
  // nodes that nobody has heard of belong to none. Any thread.
  void NodesAreKnown();

 private:
  class Gate;
  explicit Measuring(const Clock& clock) : io_(clock) {}

  std::shared_ptr<Gate> gate_;
  http::IoThread io_;
  std::unique_ptr<load_metrics::Poller> poller_;
};

// Asks for every signal once and returns when each has been answered or has failed: for explanations, on the
// thread that owns the measurements.
Expected<void> MeasureOnce(const std::string& sources_file, framework::Handle& handle,
                           const client::Environment& environment, const Clock& clock);

}  // namespace berth::process
