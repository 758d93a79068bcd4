#include "scheduler/cycle/cycle_metrics.hpp"

#include <algorithm>

namespace berth::cycle {
namespace {

const std::vector<double>& AttemptBuckets() {
  static const std::vector<double> kBuckets = metrics::ExponentialBuckets(0.001, 2, 15);
  return kBuckets;
}

constexpr std::array<const char*, 4> kResults{"scheduled", "unschedulable", "error", "waiting_on_preemption"};

metrics::Gauge& CacheSize(metrics::Registry& registry, const char* type) {
  return registry.Gauge("scheduler_cache_size",
                        "[ALPHA] Number of nodes, pods, and assumed (bound) pods in the scheduler cache.",
                        {{"type", type}});
}

metrics::Gauge& Goroutines(metrics::Registry& registry, const char* operation) {
  return registry.Gauge("scheduler_goroutines",
                        "[BETA] Number of running goroutines split by the work they do such as binding.",
                        {{"operation", operation}});
}

// kube-scheduler's opportunistic batching reuses the scores of a pod for identical pods that follow. Berth
// does not batch in this way: the series exist for dashboards and stay at zero.
void AddBatching(metrics::Registry& registry, const std::string& profile) {
  const auto seconds = [&](const char* name, const char* help, metrics::Labels labels) {
    labels.emplace_back("profile", profile);
    registry.Histogram(name, help, metrics::ExponentialBuckets(0.00001, 2, 12), labels);
  };
  registry.Counter("scheduler_batch_attempts_total",
                   "[ALPHA] Counts of results when we attempt to use batching.",
                   {{"profile", profile}, {"result", "no_hint"}});
  for (const char* reason : {"empty_list", "pod_not_batchable"}) {
    registry.Counter("scheduler_batch_cache_flushed_total", "[ALPHA] Counts of cache flushes by reason.",
                     {{"profile", profile}, {"reason", reason}});
  }
  seconds("scheduler_get_node_hint_duration_seconds", "[ALPHA] Latency for getting a node hint.",
          {{"hinted", "no_hint"}});
  seconds("scheduler_store_schedule_results_duration_seconds",
          "[ALPHA] Latency for storing scheduling results.", {});
}

}  // namespace

CycleMetrics::CycleMetrics(metrics::Registry& registry, const runtime::ProfileList& profiles,
                           ClassLatencyOptions class_latency)
    : registry(registry),
      profiles(profiles),
      per_profile(profiles.size()),
      algorithm(registry.Histogram("scheduler_scheduling_algorithm_duration_seconds",
                                   "[BETA] Scheduling algorithm latency in seconds", AttemptBuckets())),
      pod_attempts(registry.Histogram("scheduler_pod_scheduling_attempts",
                                      "[STABLE] Number of attempts to successfully schedule a pod.",
                                      metrics::ExponentialBuckets(1, 2, 5))),
      by_class(registry, std::move(class_latency)),
      cached_nodes(CacheSize(registry, "nodes")),
      cached_pods(CacheSize(registry, "pods")),
      assumed_pods(CacheSize(registry, "assumed_pods")),
      binding(Goroutines(registry, "binding")),
      after_flush(registry.Counter(
          "scheduler_pod_scheduled_after_flush_total",
          "[ALPHA] Number of pods that were successfully scheduled after being flushed from "
          "unschedulableEntities due to timeout. This metric helps detect potential queueing hint "
          "misconfigurations or event handling issues.")),
      overcommitted(registry.Counter("berth_overcommitted_placements_total",
                                     "[ALPHA] Pods bound by another scheduler that overcommitted their node, "
                                     "as observed by the leader.")),
      records(registry.Gauge("berth_attempt_records",
                             "[ALPHA] Number of attempt records kept for explanations.")),
      record_bytes(registry.Gauge("berth_attempt_record_bytes", "[ALPHA] Memory used by attempt records.")),
      records_evicted(registry.Counter("berth_attempt_records_evicted_total",
                                       "[ALPHA] Attempt records dropped to make room for newer ones.")) {
  // Work that kube-scheduler runs in separate goroutines and Berth on the loop.
  for (const char* operation :
       {"DefaultPreemption", "Filter", "InterPodAffinity", "PodTopologySpread", "Score"}) {
    Goroutines(registry, operation);
  }
  OnProfilesReplaced();
}

void CycleMetrics::OnProfilesReplaced() {
  for (const auto& profile : profiles) AddBatching(registry, profile->name());
}

void CycleMetrics::Recorded(const record::RecordRing& ring) {
  records.Set(static_cast<std::int64_t>(ring.size()));
  record_bytes.Set(static_cast<std::int64_t>(ring.bytes()));
  records_evicted.Add(ring.evicted() - records_evicted_before);
  records_evicted_before = ring.evicted();
}

CycleMetrics::Cells CycleMetrics::CellsOf(std::uint32_t profile, Result result) {
  const metrics::Labels labels{{"result", kResults[result]},
                               {"profile", std::string(profiles.NameOf(profile))}};
  return {
      &registry.Counter("scheduler_schedule_attempts_total",
                        "[STABLE] Number of attempts to schedule pods, by the result. 'unschedulable' means "
                        "a pod could not be scheduled, while 'error' means an internal scheduler problem.",
                        labels),
      &registry.Histogram("scheduler_scheduling_attempt_duration_seconds",
                          "[STABLE] Scheduling attempt latency in seconds (scheduling algorithm + binding)",
                          AttemptBuckets(), labels)};
}

CycleMetrics::GroupCells& CycleMetrics::Groups() {
  if (!groups) {
    groups.emplace(GroupCells{
        registry.Histogram("scheduler_podgroup_scheduling_algorithm_duration_seconds",
                           "[ALPHA] Pod group scheduling algorithm latency in seconds", AttemptBuckets()),
        std::vector<std::array<Cells, 4>>(profiles.size())});
  }
  return *groups;
}

CycleMetrics::Cells CycleMetrics::GroupCellsOf(std::uint32_t profile, Result result) {
  const metrics::Labels labels{{"result", kResults[result]},
                               {"profile", std::string(profiles.NameOf(profile))}};
  return {
      &registry.Counter("scheduler_podgroup_schedule_attempts_total",
                        "[ALPHA] Number of attempts to schedule pod group, by the result. 'unschedulable' "
                        "means a pod group could not be scheduled, while 'error' means an internal scheduler "
                        "problem.",
                        labels),
      &registry.Histogram("scheduler_podgroup_scheduling_attempt_duration_seconds",
                          "[ALPHA] Pod group scheduling attempt latency in seconds", AttemptBuckets(),
                          labels)};
}

void CycleMetrics::PlacementsGenerated(std::uint32_t profile, std::size_t count) {
  registry
      .Counter("scheduler_generated_placements_total",
               "[ALPHA] Number of candidate placements generated when scheduling pod groups.",
               {{"profile", std::string(profiles.NameOf(profile))}})
      .Add(count);
}

void CycleMetrics::PlacementEvaluated(std::uint32_t profile, bool feasible, Duration took) {
  const metrics::Labels labels{{"result", feasible ? "feasible" : "infeasible"},
                               {"profile", std::string(profiles.NameOf(profile))}};
  registry
      .Counter("scheduler_placement_evaluations_total",
               "[ALPHA] Number of candidate placements evaluated when scheduling pod groups, by result. "
               "'feasible' "
               "means the pod group fit into the placement, while 'infeasible' means it did not.",
               labels)
      .Add();
  registry
      .Histogram("scheduler_placement_evaluation_duration_seconds",
                 "[ALPHA] Latency in seconds of evaluating a single candidate placement when scheduling pod "
                 "groups, by "
                 "result. 'feasible' means the pod group fit into the placement, while 'infeasible' means it "
                 "did not.",
                 AttemptBuckets(), labels)
      .Observe(std::chrono::duration<double>(took).count());
}

void CycleMetrics::Handled(const char* event, Duration took) {
  metrics::Histogram*& cell = handling[event];
  if (cell == nullptr) {
    cell = &registry.Histogram("scheduler_event_handling_duration_seconds",
                               "[ALPHA] Event handling latency in seconds.",
                               metrics::ExponentialBuckets(0.0001, 2, 12), {{"event", event}});
  }
  cell->Observe(std::chrono::duration<double>(took).count());
}

void CycleMetrics::Bound(const framework::QueuedPod& pod, MonoTime now) {
  pod_attempts.Observe(pod.attempts);
  by_class.Bound(pod, now);
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

}  // namespace berth::cycle
