// Queries the measurements that plugins use, in the background.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "http/io_thread.hpp"
#include "kubernetes/client/environment.hpp"
#include "kubernetes/ports/ports.hpp"
#include "observability/metrics/registry.hpp"
#include "scheduler/cycle/loop_journal.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/load_metrics/poller.hpp"

namespace berth::process {

struct MeasuringParts {
  const std::string& sources_file;  // from --berth-metric-sources; empty: none
  framework::Handle& handle;
  const client::Environment& environment;
  const Clock& clock;
  metrics::Registry& metrics;
  ports::EventSink& events;  // records the failure and the recovery of a source
  const std::string& hostname;
  // The origin of the work that passes a result to the measurements; by default outside. Any thread.
  std::function<cycle::Origin(const load_metrics::PollResult&)> origin_of =
      [](const load_metrics::PollResult&) { return cycle::Origin{}; };
};

// Runs on its own thread, so that megabytes of measurements do not delay bindings.
class Measuring {
 public:
  // Must be called after all plugins are built and before pods are delivered to the scheduler. Null if no
  // plugin uses measurements. The arguments must outlive the result. Errors name the file or the signal.
  static Expected<std::unique_ptr<Measuring>> Start(const MeasuringParts& parts);
  // Must be called when the scheduler has all nodes. Responses that arrived before are held back until then:
  // series of unknown nodes would be dropped. Any thread.
  void OnNodesSynced();

 private:
  class Gate;
  explicit Measuring(const Clock& clock) : io_(clock) {}

  std::shared_ptr<Gate> gate_;
  http::IoThread io_;
  std::unique_ptr<load_metrics::Poller> poller_;
};

// Queries every signal once and returns when each has a result or has failed. For explanations; must run on
// the thread that owns the measurements.
Expected<void> MeasureOnce(const std::string& sources_file, framework::Handle& handle,
                           const client::Environment& environment, const Clock& clock);

}  // namespace berth::process
