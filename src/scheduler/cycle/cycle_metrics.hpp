// The loop's metrics, under kube-scheduler's names; private to this module.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "observability/metrics/registry.hpp"
#include "scheduler/cycle/class_latency.hpp"
#include "scheduler/framework/queued_pod.hpp"
#include "scheduler/record/record_ring.hpp"
#include "scheduler/runtime/profile_list.hpp"

namespace berth::cycle {

// Metric cells are resolved once per profile and result. Scheduler loop only.
struct CycleMetrics {
  enum Result { kScheduled, kUnschedulable, kError, kWaitingOnPreemption };  // the last for groups only

  CycleMetrics(metrics::Registry& registry, const runtime::ProfileList& profiles,
               ClassLatencyOptions class_latency);

  void Attempt(std::uint32_t profile, Result result, Duration took) {
    if (profile >= per_profile.size()) per_profile.resize(profile + 1);
    Cells& cells = per_profile[profile][result];
    if (cells.attempts == nullptr) cells = CellsOf(profile, result);
    cells.attempts->Add();
    cells.duration->Observe(std::chrono::duration<double>(took).count());
  }
  // An attempt of a pod group. kube-scheduler has these series only with the feature gate GenericWorkload.
  void GroupAttempt(std::uint32_t profile, Result result, Duration took) {
    auto& of_groups = Groups().per_profile;
    if (profile >= of_groups.size()) of_groups.resize(profile + 1);
    Cells& cells = of_groups[profile][result];
    if (cells.attempts == nullptr) cells = GroupCellsOf(profile, result);
    cells.attempts->Add();
    cells.duration->Observe(std::chrono::duration<double>(took).count());
  }
  // Candidate placements of a pod group. kube-scheduler has these series only with the feature gate
  // TopologyAwareWorkloadScheduling.
  void PlacementsGenerated(std::uint32_t profile, std::size_t count);
  void PlacementEvaluated(std::uint32_t profile, bool feasible, Duration took);
  // The profiles were replaced: creates the series of new ones.
  void OnProfilesReplaced();
  void Bound(const framework::QueuedPod& pod, MonoTime now);
  void Recorded(const record::RecordRing& ring);
  void Handled(const char* event, Duration took);  // a change of the cluster

  struct Cells {
    metrics::Counter* attempts = nullptr;
    metrics::Histogram* duration = nullptr;
  };
  Cells CellsOf(std::uint32_t profile, Result result);
  Cells GroupCellsOf(std::uint32_t profile, Result result);
  struct GroupCells {
    metrics::Histogram& algorithm;
    std::vector<std::array<Cells, 4>> per_profile;
  };
  // Created with the first group.
  GroupCells& Groups();

  metrics::Registry& registry;
  const runtime::ProfileList& profiles;
  std::vector<std::array<Cells, 4>> per_profile;
  std::optional<GroupCells> groups;
  metrics::Histogram& algorithm;
  metrics::Histogram& pod_attempts;
  ClassLatency by_class;
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
class HandlingTimer {
 public:
  // `event` is a string literal.
  HandlingTimer(CycleMetrics& metrics, const Clock& clock, const char* event)
      : metrics_(metrics), clock_(clock), event_(event), started_(clock.Now()) {}
  ~HandlingTimer() { metrics_.Handled(event_, clock_.Now() - started_); }
  HandlingTimer(const HandlingTimer&) = delete;
  HandlingTimer& operator=(const HandlingTimer&) = delete;

 private:
  CycleMetrics& metrics_;
  const Clock& clock_;
  const char* event_;
  MonoTime started_;
};

}  // namespace berth::cycle
