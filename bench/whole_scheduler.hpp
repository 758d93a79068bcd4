// A complete scheduler whose writes a benchmark answers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/measuring.hpp"
#include "kubernetes/ports/dry_run_ports.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "scheduler/cycle/scheduler.hpp"
#include "scheduler/cycle/services_proxy.hpp"

namespace berth::bench {

// Uses the seed 1, so that rounds are alike. One thread.
class WholeScheduler {
 public:
  // Ends the program if the configuration is invalid. The writer must outlive this object.
  WholeScheduler(const config::SchedulerConfig& config, ports::ApiWriter& writer) {
    std::vector<std::string> notes;
    auto engine = assembly::Engine::Build(config, plugins_, {writer, events_, loop_, services_}, notes,
                                          {.registry = &metrics_, .clock = &clock_, .options = {}});
    if (!engine) Stop(engine.error().message);
    engine_ = std::move(*engine);
    cycle::SchedulerOptions options;
    options.algorithm.seed = 1;
    scheduler_ = std::make_unique<cycle::Scheduler>(
        options, cycle::SchedulerParts{loop_, services_, engine_->handle(), engine_->cache(),
                                       engine_->profiles(), clock_, metrics_, engine_->shared_extenders(),
                                       fence_, tracer_, [](std::size_t) { return true; }});
  }

  // An object was created.
  template <class T>
  void Deliver(std::shared_ptr<const T> object) {
    ports::ClusterChange change = ports::Change<T>{nullptr, std::move(object)};
    scheduler_->OnChange(change);
  }
  // Starts to schedule, and returns when nothing is left to do.
  void Run() {
    loop_.sink().OnSynced();
    while (loop_.RunOnce(*scheduler_)) {
    }
  }

 private:
  const SystemClock clock_;
  const LeaseFence fence_ = LeaseFence::AlwaysOpen(clock_);
  tracing::NoTracer tracer_;
  metrics::Registry metrics_;
  ports::DiscardingEventSink events_;
  cycle::ClusterLoop loop_{clock_};
  cycle::ServicesProxy services_;
  const runtime::Registry plugins_ = assembly::InTreePlugins();
  std::unique_ptr<assembly::Engine> engine_;
  std::unique_ptr<cycle::Scheduler> scheduler_;
};

}  // namespace berth::bench
