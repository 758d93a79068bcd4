// The loop's metrics under kube-scheduler's names; private to this module.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "core/scheduler.hpp"
#include "metrics/registry.hpp"

namespace berth::core {

// Cells are looked up once, per profile and result.
struct Scheduler::Meters {
  enum Result { kScheduled, kUnschedulable, kError };

  Meters(metrics::Registry& registry, std::span<const std::unique_ptr<runtime::Profile>> profiles);

  void Attempt(std::uint32_t profile, Result result, Duration took) {
    per_profile[profile][result].attempts->Add();
    per_profile[profile][result].duration->Observe(std::chrono::duration<double>(took).count());
  }
  void Bound(const framework::QueuedPod& pod, MonoTime now);

  struct Cells {
    metrics::Counter* attempts = nullptr;
    metrics::Histogram* duration = nullptr;
  };
  metrics::Registry& registry;
  std::vector<std::array<Cells, 3>> per_profile;
  metrics::Histogram& algorithm;
  metrics::Histogram& pod_attempts;
  std::array<metrics::Histogram*, 15> sli{};  // by number of attempts, the last for 15 and more
  metrics::Gauge& cached_nodes;
  metrics::Gauge& cached_pods;
  metrics::Gauge& assumed_pods;
  metrics::Gauge& binding;
  metrics::Counter& after_flush;
  metrics::Counter& overcommitted;
};

}  // namespace berth::core
