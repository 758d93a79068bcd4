// A scheduler that is recorded, for tests.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/lease_fence.hpp"
#include "config/write_config.hpp"
#include "observability/tracing/attempt_trace.hpp"
#include "process/load_config.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "scheduler/cycle/scheduler.hpp"
#include "scheduler/extenders/fake_transport.hpp"
#include "scheduler/recording/header.hpp"
#include "scheduler/recording/inputs.hpp"
#include "scheduler/recording/recorder.hpp"
#include "scheduler/recording/writing_thread.hpp"
#include "testing/fakes.hpp"

namespace berth::replay {

inline constexpr std::string_view kGates = "AllBeta=true";
inline constexpr std::string_view kDefaultConfig =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

// The default configuration with other fields of its profile, in YAML.
inline std::string ConfigWith(std::string_view profile) {
  return std::string(kDefaultConfig) + "profiles:\n- schedulerName: default-scheduler\n" +
         std::string(profile);
}

template <class T>
T Value(Expected<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

// A scheduler that is recorded, with the ports of tests. Lines are written by Flush, at its destruction, and
// if many wait, but not because some time has passed: the files do not depend on the speed of the machine.
// Nothing is written after its destruction.
class Recorded {
 public:
  explicit Recorded(const std::filesystem::path& directory, const recording::RecorderLimits& limits = {},
                    std::string_view config = kDefaultConfig, std::string_view gates = kGates,
                    runtime::Registry plugins = assembly::InTreePlugins())
      : recorder_(Value(recording::Recorder::Create(directory, WithoutLongestWait(limits), clock_))),
        plugins_(std::move(plugins)) {
    const std::string gate_values[] = {std::string(gates)};
    std::vector<std::string> notes;
    config_ = Value(process::ReadConfig(std::string(config), plugins_,
                                        Value(config::FeatureGates::Parse(gate_values, notes))));
    recorder_->BeginStart();
    engine_ = Value(assembly::Engine::Build(
        config_, plugins_, {*recorded_writer_, events_, loop_, services_}, notes,
        {.registry = &metrics_, .clock = &recorder_->clock(), .options = {}},
        {.make_transport = recorder_->Watch(extenders.Maker()), .circuit = kCircuit}));
    engine_->handle().signals.SetClock(recorder_->clock());
    cycle::SchedulerOptions options;
    options.measurement_wait = std::chrono::seconds(1);
    scheduler_ = std::make_unique<cycle::Scheduler>(
        options,
        cycle::SchedulerParts{loop_, services_, engine_->handle(), engine_->cache(), engine_->profiles(),
                              recorder_->clock(), metrics_, engine_->shared_extenders(), *fence_, tracer_,
                              [this](std::size_t profile) { return engine_->IsMeasured(profile); }});
    recording::Header header;
    header.version = "1";
    header.gates = gates;
    header.config = config::WriteConfigForLog(config_, plugins_.codecs());
    header.options = options;
    header.circuit = kCircuit;
    recorder_->Start(*scheduler_, header);
    writing_thread_.emplace(*recorder_);
  }
  ~Recorded() { loop_.DropPending(); }

  template <class T>
  void Change(std::shared_ptr<const T> before, std::shared_ptr<const T> after) {
    loop_.sink().On(ports::Change<T>{std::move(before), std::move(after)});
    Run();
  }
  void Measure(const load_metrics::PollResult& result) {
    const cycle::OriginScope origin(recording::OriginOf(result));
    loop_.Post([this, result] { engine_->handle().signals.On(result); });
    Run();
  }
  void Sync() {
    loop_.sink().OnSynced();
    Run();
  }
  void Pass(Duration time) {
    clock_.Advance(time);
    Run();
  }
  void Run() {
    while (loop_.RunOnce(*scheduler_)) {
    }
  }

  cycle::ClusterLoop& loop() { return loop_; }
  void Flush() { writing_thread_->Flush(); }
  MonoTime now() const { return clock_.Now(); }
  WallTime wall_now() const { return clock_.WallNow(); }
  const load_metrics::SignalTable& signals() const { return engine_->handle().signals; }

  testing::FakeApiWriter writer;
  extenders::FakeExtenders extenders;

 private:
  static constexpr extenders::CircuitOptions kCircuit{.failures = 2, .pause = std::chrono::seconds(5)};

  static recording::RecorderLimits WithoutLongestWait(recording::RecorderLimits limits) {
    limits.longest_wait = std::chrono::hours(1);
    return limits;
  }

  ManualClock clock_;
  const std::unique_ptr<recording::Recorder> recorder_;
  std::optional<recording::WritingThread> writing_thread_;
  const LeaseFence open_ = LeaseFence::AlwaysOpen(clock_);
  const std::unique_ptr<Fence> fence_ = recorder_->Watch(open_);
  const std::unique_ptr<ports::ApiWriter> recorded_writer_ = recorder_->Watch(writer);
  const runtime::Registry plugins_;
  config::SchedulerConfig config_;
  metrics::Registry metrics_;
  tracing::NoTracer tracer_;
  testing::FakeEventSink events_;
  cycle::ClusterLoop loop_{recorder_->clock(), *recorder_};
  cycle::ServicesProxy services_;
  std::unique_ptr<assembly::Engine> engine_;
  std::unique_ptr<cycle::Scheduler> scheduler_;
};

}  // namespace berth::replay
