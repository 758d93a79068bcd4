#include "core/scheduler_meters.hpp"

#include <algorithm>

namespace berth::core {
namespace {

const std::vector<double>& AttemptBuckets() {
  static const std::vector<double> kBuckets = metrics::ExponentialBuckets(0.001, 2, 15);
  return kBuckets;
}

metrics::Gauge& CacheSize(metrics::Registry& registry, const char* type) {
  return registry.Gauge("scheduler_cache_size",
                        "[ALPHA] Number of nodes, pods, and assumed (bound) pods in the scheduler cache.",
                        {{"type", type}});
}

}  // namespace

Scheduler::Meters::Meters(metrics::Registry& registry,
                          std::span<const std::unique_ptr<runtime::Profile>> profiles)
    : registry(registry),
      algorithm(registry.Histogram("scheduler_scheduling_algorithm_duration_seconds",
                                   "[STABLE] Scheduling algorithm latency in seconds", AttemptBuckets())),
      pod_attempts(registry.Histogram("scheduler_pod_scheduling_attempts",
                                      "[STABLE] Number of attempts to successfully schedule a pod.",
                                      metrics::ExponentialBuckets(1, 2, 5))),
      cached_nodes(CacheSize(registry, "nodes")),
      cached_pods(CacheSize(registry, "pods")),
      assumed_pods(CacheSize(registry, "assumed_pods")),
      binding(registry.Gauge("scheduler_goroutines",
                             "[BETA] Number of running goroutines split by the work they do such as binding.",
                             {{"operation", "binding"}})),
      after_flush(registry.Counter(
          "scheduler_pod_scheduled_after_flush_total",
          "[ALPHA] Number of pods that were successfully scheduled after being flushed from "
          "unschedulableEntities due to timeout. This metric helps detect potential queueing hint "
          "misconfigurations or event handling issues.")),
      overcommitted(registry.Counter(
          "berth_overcommitted_placements_total",
          "[ALPHA] Pods bound by somebody else to a node that holds more than it offers since, as this leader sees "
          "it.")) {
  static constexpr std::array<const char*, 3> kResults{"scheduled", "unschedulable", "error"};
  for (const auto& profile : profiles) {
    std::array<Cells, 3>& cells = per_profile.emplace_back();
    for (std::size_t i = 0; i < kResults.size(); ++i) {
      const metrics::Labels labels{{"result", kResults[i]}, {"profile", profile->name()}};
      cells[i].attempts = &registry.Counter(
          "scheduler_schedule_attempts_total",
          "[STABLE] Number of attempts to schedule pods, by the result. 'unschedulable' means a pod "
          "could not be scheduled, while 'error' means an internal scheduler problem.",
          labels);
      cells[i].duration = &registry.Histogram(
          "scheduler_scheduling_attempt_duration_seconds",
          "[STABLE] Scheduling attempt latency in seconds (scheduling algorithm + binding)", AttemptBuckets(),
          labels);
    }
  }
}

void Scheduler::Meters::Bound(const framework::QueuedPod& pod, MonoTime now) {
  pod_attempts.Observe(pod.attempts);
  if (pod.was_flushed) after_flush.Add();
  const auto index = static_cast<std::size_t>(std::clamp(pod.attempts, 1, 15)) - 1;
  if (sli[index] == nullptr) {
    sli[index] = &registry.Histogram(
        "scheduler_pod_scheduling_sli_duration_seconds",
        "[BETA] E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue and "
        "might involve multiple scheduling attempts.",
        metrics::ExponentialBuckets(0.01, 2, 20),
        {{"attempts", index == 14 ? "15+" : std::to_string(index + 1)}});
  }
  sli[index]->Observe(std::chrono::duration<double>(now - pod.first_attempt_ready).count());
}

}  // namespace berth::core
