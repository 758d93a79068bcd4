// The loop's metrics, under kube-scheduler's names; private to this module.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "observability/metrics/registry.hpp"
#include "scheduler/cycle/scheduler.hpp"

namespace berth::cycle {

// Metric cells are resolved once per profile and result.
struct Scheduler::Metrics {
  enum Result { kScheduled, kUnschedulable, kError };

  Metrics(metrics::Registry& registry, std::span<const std::unique_ptr<runtime::Profile>> profiles);

  void Attempt(std::uint32_t profile, Result result, Duration took) {
    Cells& cells = per_profile[profile][result];
    if (cells.attempts == nullptr) cells = CellsOf(profile, result);
    cells.attempts->Add();
    cells.duration->Observe(std::chrono::duration<double>(took).count());
  }
  void Bound(const framework::QueuedPod& pod, MonoTime now);
  void Recorded(const record::RecordRing& ring);
  void Handled(const char* event, Duration took);  // a change of the cluster

  struct Cells {
    metrics::Counter* attempts = nullptr;
    metrics::Histogram* duration = nullptr;
  };
  Cells CellsOf(std::uint32_t profile, Result result);

  metrics::Registry& registry;
  const std::span<const std::unique_ptr<runtime::Profile>> profiles;
  std::vector<std::array<Cells, 3>> per_profile;
  metrics::Histogram& algorithm;
  metrics::Histogram& pod_attempts;
  std::array<metrics::Histogram*, 15> sli{};  // by number of attempts; the last for 15 and more
  metrics::Gauge& cached_nodes;
  metrics::Gauge& cached_pods;
  metrics::Gauge& assumed_pods;
  metrics::Gauge& binding;
  metrics::Counter& after_flush;
  metrics::Counter& overcommitted;
  metrics::Gauge& records;
  metrics::Gauge& record_bytes;
  metrics::Counter& records_evicted;
  std::size_t records_evicted_before = 0;
  std::map<std::string_view, metrics::Histogram*> handling;  // by event; keys are string literals
};

// Measures the handling of a change, from construction to destruction.
class Scheduler::HandlingTimer {
 public:
  HandlingTimer(const Scheduler& scheduler, const char* event)
      : scheduler_(scheduler), event_(event), started_(scheduler.parts_.clock.Now()) {}
  ~HandlingTimer() { scheduler_.metrics_->Handled(event_, scheduler_.parts_.clock.Now() - started_); }
  HandlingTimer(const HandlingTimer&) = delete;
  HandlingTimer& operator=(const HandlingTimer&) = delete;

 private:
  const Scheduler& scheduler_;
  const char* event_;
  MonoTime started_;
};

}  // namespace berth::cycle
