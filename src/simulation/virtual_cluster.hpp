// A complete scheduler on virtual time: the production code, with ports in memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/scheduler_config.hpp"
#include "observability/metrics/registry.hpp"
#include "observability/tracing/attempt_trace.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/cycle/scheduler.hpp"
#include "scheduler/recording/recorded_ports.hpp"
#include "scheduler/recording/recorder.hpp"
#include "scheduler/recording/writing_thread.hpp"
#include "scheduler/runtime/registry.hpp"
#include "simulation/recording_options.hpp"
#include "simulation/virtual_api.hpp"
#include "simulation/virtual_time.hpp"

namespace berth::simulation {

struct VirtualClusterOptions {
  Latencies latencies;
  Duration decision{};     // the time that one scheduling attempt takes
  std::uint64_t seed = 1;  // of the choice between equal nodes
  std::size_t record_bytes =
      0;  // limit of the attempt records that the scheduler keeps; at least one is kept
  RecordingOptions recording = {};
};

// The same configuration, options and calls give the same run. Differences from `berth scheduler`: an attempt
// takes the configured time whatever it computes, extenders are rejected, and load-aware plugins have no
// measurements. One thread, and one that writes the recording: the simulation waits for it, so that no line
// is lost.
class VirtualCluster {
 public:
  // Errors are those of the configuration, and of the recording's directory. `notes` receives texts for the
  // log.
  static Expected<std::unique_ptr<VirtualCluster>> Build(const config::SchedulerConfig& config,
                                                         const runtime::Registry& plugins,
                                                         const VirtualClusterOptions& options,
                                                         std::vector<std::string>& notes);
  ~VirtualCluster();
  VirtualCluster(const VirtualCluster&) = delete;
  VirtualCluster& operator=(const VirtualCluster&) = delete;

  VirtualTime& time() { return *time_; }
  VirtualApi& api() { return api_; }
  const assembly::Engine& engine() const { return *engine_; }
  // For evaluations between two runs, which must leave it as it was.
  assembly::Engine& engine() { return *engine_; }
  const cycle::Scheduler& scheduler() const { return *scheduler_; }
  // Scheduling attempts so far.
  std::uint64_t attempts() const { return scheduler_->records().end(); }

  // All objects that exist at the start have been created: their changes are delivered now, and scheduling
  // begins.
  void Start();
  // Runs scheduler and events until `time` (inclusive), or until `stop` is set. Returns whether `time` was
  // reached.
  bool RunUntil(Duration time, const std::atomic<bool>& stop);
  // Runs until the scheduler has nothing to do: every write has taken effect, no pod terminates, and each pod
  // is bound, rejected, gated, or waits for Permit. Returns false if that is not so after `limit`, for
  // example because a binding fails again and again, or if `stop` is set.
  bool Settle(Duration limit, const std::atomic<bool>& stop);

 private:
  VirtualCluster(const VirtualClusterOptions& options, std::unique_ptr<VirtualTime> time,
                 std::unique_ptr<recording::Recorder> recorder);
  Expected<void> MakeScheduler(const config::SchedulerConfig& config, const runtime::Registry& plugins,
                               std::vector<std::string>& notes);
  void AwaitRecording();
  Duration NextWork();

  const VirtualClusterOptions options_;
  const std::unique_ptr<VirtualTime> time_;
  const std::unique_ptr<recording::Recorder> recorder_;     // null: nothing is recorded
  std::optional<recording::WritingThread> writing_thread_;  // empty: nothing is recorded
  const LeaseFence fence_ = LeaseFence::AlwaysOpen(time_->clock());
  recording::RecordedPorts recorded_{recorder_.get(), time_->clock(), fence_};
  tracing::NoTracer tracer_;
  metrics::Registry metrics_;
  cycle::ClusterLoop loop_{recorded_.clock(), recorded_.journal()};
  VirtualApi api_{*time_, options_.latencies, loop_.sink()};
  std::uint64_t units_ = 0;  // of work since the recording was awaited
  cycle::ServicesProxy services_;
  std::unique_ptr<assembly::Engine> engine_;
  std::unique_ptr<cycle::Scheduler> scheduler_;
};

}  // namespace berth::simulation
