// A complete scheduler whose environment is a list of calls, with a clock that the test advances.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/shifted_clock.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "scheduler/cycle/scheduler.hpp"
#include "testing/fakes.hpp"

namespace berth::cycle {

// Members are declared in dependency order. `engine` and `scheduler` are null until Build.
struct SchedulerEnvironment {
  // Replaces engine and scheduler.
  void Build(const config::SchedulerConfig& config, const runtime::Registry& registry,
             const SchedulerOptions& options = {}) {
    scheduler.reset();
    std::vector<std::string> notes;
    engine = std::move(assembly::Engine::Build(config, registry, {api, events, loop, services}, notes,
                                               {.registry = &metrics, .clock = &clock, .options = {}}))
                 .value();
    BuildScheduler(options, fence);
  }
  // Replaces the scheduler. The fence must outlive it.
  void BuildScheduler(const SchedulerOptions& options, const LeaseFence& with_fence) {
    scheduler.reset();
    scheduler = std::make_unique<Scheduler>(
        options, SchedulerParts{loop, services, engine->handle(), engine->cache(), engine->profiles(), clock,
                                metrics, engine->shared_extenders(), with_fence, tracer,
                                [this](std::size_t profile) { return engine->IsMeasured(profile); }});
  }
  // Replaces the configuration of the running scheduler, as config_reload.cpp does.
  Scheduler::Reconfigured Reload(const config::SchedulerConfig& config, const runtime::Registry& registry,
                                 const assembly::ExtenderAccess& access = {}) {
    std::vector<std::string> notes;
    const auto set =
        engine
            ->Prepare(config, registry, notes, {.registry = &metrics, .clock = &clock, .options = {}}, access)
            .value();
    return scheduler->Reconfigure({.replace_profiles = [&] { engine->Use(set, clock.Now()); },
                                   .extenders = set->extenders,
                                   .percentage_of_nodes_to_score = config.percentage_of_nodes_to_score,
                                   .initial_backoff = config.pod_initial_backoff,
                                   .max_backoff = config.pod_max_backoff});
  }
  // Runs until there is nothing left to do at the current time.
  void Settle() {
    while (loop.RunOnce(*scheduler)) {
    }
  }
  void Wait(Duration time) {
    clock.Advance(time);
    Settle();
  }

  ManualClock clock;
  LeaseFence fence = LeaseFence::AlwaysOpen(clock);
  tracing::NoTracer tracer;
  metrics::Registry metrics;
  berth::testing::FakeApiWriter api;
  berth::testing::FakeEventSink events;
  ShiftedClock loop_clock{clock};
  ClusterLoop loop{loop_clock};
  ServicesProxy services;
  std::unique_ptr<assembly::Engine> engine;
  std::unique_ptr<Scheduler> scheduler;
};

}  // namespace berth::cycle
