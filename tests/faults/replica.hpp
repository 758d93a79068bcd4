// One process `berth scheduler` with leader election, on a simulated machine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/lease_fence.hpp"
#include "config/scheduler_config.hpp"
#include "kubernetes/client/api_writer.hpp"
#include "kubernetes/client/event_sink.hpp"
#include "kubernetes/client/informers.hpp"
#include "kubernetes/client/rest.hpp"
#include "observability/metrics/registry.hpp"
#include "observability/tracing/attempt_trace.hpp"
#include "process/leadership.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/cycle/scheduler.hpp"
#include "scheduler/load_metrics/poller.hpp"
#include "scheduler/recording/recorded_ports.hpp"
#include "tests/faults/extender.hpp"
#include "tests/faults/machine.hpp"
#include "tests/faults/network.hpp"
#include "tests/faults/prometheus.hpp"
#include "tests/faults/recordings.hpp"
#include "tests/faults/timeline.hpp"

namespace berth::faults {

// Joins the production parts as process/scheduler_process.cpp does: scheduler, client, leadership, writer and
// events are those of `berth scheduler`; only machine and connections are simulated. The process ends itself
// when it loses the lease, and after an orderly stop. One thread.
class Replica {
 public:
  struct Options {
    std::size_t index = 0;
    std::string identity;  // of the process
    std::uint64_t seed = 1;
    const config::SchedulerConfig& config;
    const runtime::Registry& plugins;
    std::function<ExtenderFault()> extender_fault;  // the current one
    const NodeLoads& loads;                         // read if a plugin of the configuration measures
    std::function<MeasurementFault()> measurement_fault;
    Recordings* recordings = nullptr;  // null: nothing is recorded
    std::function<DiskFault()> disk_fault;
    std::function<void()> on_exit;  // called at most once, as the last action of a task
  };
  // The arguments must outlive the replica. Starts immediately.
  Replica(simulation::VirtualTime& time, Network& network, Timeline& timeline, Options options);
  ~Replica();
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  const std::string& identity() const { return options_.identity; }
  Machine& machine() { return machine_; }
  const cycle::Scheduler& scheduler() const { return *scheduler_; }
  const assembly::Engine& engine() const { return *engine_; }
  bool fence_open() const { return fence_.Open(); }
  std::size_t write_backlog() const { return writer_->Backlog(); }
  // The last measurement of the node that has arrived.
  std::optional<Reading> ReadingOf(std::string_view node) const { return prometheus_.ReadingOf(node); }
  // Writes what is waiting to be recorded, as at the orderly end of the process.
  void CompleteRecording();
  // SIGTERM.
  void Terminate();

 private:
  void StartPoller();
  void Wake();
  void ScheduleRun(Duration delay);
  void RunLoop();
  void Exit();

  const Options options_;
  simulation::VirtualTime& time_;
  Timeline& timeline_;
  Random random_;
  Machine machine_;
  metrics::Registry metrics_;
  LeaseFence fence_{machine_.clock()};
  const std::unique_ptr<Recording> recording_;  // null: nothing is recorded
  recording::RecordedPorts recorded_;
  Connection main_connection_, event_connection_, lease_connection_;
  client::RestClient main_, events_api_, lease_api_;
  std::unique_ptr<client::ApiWriter> writer_;
  std::unique_ptr<client::EventSink> events_;
  cycle::ClusterLoop loop_{recorded_.clock(), recorded_.journal()};
  ExtenderClient extender_;
  PrometheusClient prometheus_;
  cycle::ServicesProxy services_;
  tracing::NoTracer tracer_;
  std::unique_ptr<assembly::Engine> engine_;
  std::unique_ptr<cycle::Scheduler> scheduler_;
  std::unique_ptr<load_metrics::Poller> poller_;  // null: nothing is measured
  std::unique_ptr<process::Leadership> leadership_;
  std::unique_ptr<client::ClusterSource> source_;
  bool exiting_ = false;
  bool loop_stopped_ = false;
  // Of the scheduler's thread: its next iteration, and the end of the current one.
  Duration busy_until_{};
  Duration run_at_ = Duration::max();
  std::uint64_t run_number_ = 0;
};

}  // namespace berth::faults
