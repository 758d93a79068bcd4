// The run of a process that follows a cluster until a signal arrives: the common part of scheduler, shadow
// and extender.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "config/scheduler_config.hpp"
#include "http/io_thread.hpp"
#include "kubernetes/client/environment.hpp"
#include "kubernetes/client/informers.hpp"
#include "observability/metrics/registry.hpp"
#include "process/forced_end.hpp"
#include "process/signals.hpp"

namespace berth::process {

class Measuring;

// Derived classes own the parts of their process, in the order of their dependencies; the members of this
// class are constructed before these and destroyed after them. Must be constructed before any other thread
// exists.
class LongRunningProcess {
 public:
  LongRunningProcess(const LongRunningProcess&) = delete;
  LongRunningProcess& operator=(const LongRunningProcess&) = delete;

  // Assembles the parts, logs the notes, and runs until the first signal. Returns the exit code. Errors are
  // start-up errors. The calling thread becomes the loop's.
  Expected<int> Execute(std::vector<std::string> notes);

 protected:
  // Exceeds the limits of all steps of an orderly end together: what is left then is blocked.
  static constexpr std::chrono::seconds kMaxEnd{30};
  // From the signal, with what Run does until its end: a plugin that blocks the loop delays that for ever.
  static constexpr std::chrono::seconds kMaxStop{60};

  // The registry contains the metrics of the process and of credential plugins.
  explicit LongRunningProcess(metrics::RegistryOptions metrics_options = {});
  virtual ~LongRunningProcess() = default;

  // Connects and constructs all parts; nothing is read from the cluster yet. `notes` receives lines for the
  // log.
  virtual Expected<void> Assemble(std::vector<std::string>& notes) = 0;
  // Called at every SIGHUP, on the thread of the signals, after Assemble. Null: it is logged, with no effect.
  virtual std::function<void()> OnHangup() { return nullptr; }
  // Runs the loop until Stop, and ends the parts in order. Returns the exit code. Must call BeginEnd before
  // it destroys what OnHangup or Stop uses.
  virtual Expected<int> Run() = 0;
  // Makes Run return. Called at most once, on the thread of the signals, when `stopping_` is set; not after
  // Run has returned.
  virtual void Stop() = 0;
  // Neither the function of OnHangup nor Stop is in progress afterwards, or called. If the end takes longer
  // than kMaxEnd, the process ends with exit code 1. Called after Run, too.
  void BeginEnd();

  // The source of the cluster's objects, not yet started. Nodes that it delivers release the held
  // measurements. `measuring`: null if no plugin uses measurements. All arguments must outlive the result.
  // Replaces encoding and on_complete of the options.
  std::unique_ptr<client::ClusterSource> SourceOf(client::Api& api, ports::ClusterSink& sink,
                                                  const config::ClientConnection& wanted,
                                                  const std::unique_ptr<Measuring>& measuring,
                                                  client::ClusterSourceOptions options);

 private:
  Signals signals_;  // before any thread

 protected:
  ForcedEnd forced_end_;  // destroyed after all that may block
  const client::SystemEnvironment environment_;
  const SystemClock clock_;
  metrics::Registry metrics_;
  http::IoThread io_{clock_};
  std::atomic<bool> stopping_{false};
};

}  // namespace berth::process
