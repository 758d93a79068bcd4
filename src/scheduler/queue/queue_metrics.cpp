#include "scheduler/queue/queue_metrics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

namespace berth::queue {

SchedulingQueue::Metrics::Metrics(metrics::Registry& registry)
    : registry(registry),
      active(Pending("active")),
      backoff(Pending("backoff")),
      unschedulable(Pending("unschedulable")),
      gated(Pending("gated")) {
  for (const char* of_groups : {"incomplete", "pending"}) Pending(of_groups, false);
}

metrics::Gauge& SchedulingQueue::Metrics::Pending(const char* queue, bool is_queue) {
  // Pod groups are not queued as entities here, so both numbers are equal.
  metrics::Gauge& pods = registry.Gauge(
      "scheduler_pending_pods",
      "[STABLE] Number of pending pods, by the queue type. 'active' means number of pods in activeQ; "
      "'backoff' means number of pods in backoffQ; 'unschedulable' means number of pods in "
      "unschedulableEntities that the scheduler attempted to schedule and failed; 'gated' is the number of "
      "unschedulable pods that the scheduler never attempted to schedule because they are gated; "
      "'incomplete' "
      "means number of pods in incompletePodGroupPods; 'pending' means number of pods in "
      "pendingPodGroupPods.",
      {{"queue", queue}});
  if (is_queue) {
    registry.CallbackGauge(
        "scheduler_queued_entities",
        "[ALPHA] Number of queued scheduling entities ('pod' or 'podgroup'; 'pod' stands for individual pods "
        "that are not members of any podgroup) by the queue type. 'active' means number of entities in "
        "activeQ; "
        "'backoff' means number of entities in backoffQ; 'unschedulable' means number of entities in "
        "unschedulableEntities that the scheduler attempted to schedule and failed; 'gated' is the number of "
        "unschedulable entities that the scheduler never attempted to schedule because they are gated.",
        {{"queue", queue}, {"type", "pod"}}, [&pods] { return static_cast<double>(pods.Value()); });
  }
  return pods;
}

void SchedulingQueue::Metrics::Incoming(const char* queue, const char* event) {
  Arrivals& cells = incoming_[{queue, event}];
  if (cells.pods == nullptr) {
    cells.pods =
        &registry.Counter("scheduler_queue_incoming_pods_total",
                          "[STABLE] Number of pods added to scheduling queues by event and queue type.",
                          {{"queue", queue}, {"event", event}});
    cells.entities = &registry.Counter(
        "scheduler_queue_incoming_entities_total",
        "[ALPHA] Number of scheduling entities added to scheduling queues by event, queue type, and entity "
        "type. Entity types are either 'pod' (for individual pods that are not members of any podgroup) or "
        "'podgroup'.",
        {{"queue", queue}, {"event", event}, {"type", "pod"}});
  }
  cells.pods->Add();
  cells.entities->Add();
}

void SchedulingQueue::Metrics::InFlightEvent(const char* event, std::int64_t by) {
  metrics::Gauge*& cell = in_flight_[event];
  if (cell == nullptr) {
    cell = &registry.Gauge("scheduler_inflight_events",
                           "[ALPHA] Number of events currently tracked in the scheduling queue.",
                           {{"event", event}});
  }
  cell->Add(by);
}

void SchedulingQueue::Metrics::Rejected(const std::string& plugin, const std::string& profile,
                                        std::int64_t by) {
  metrics::Gauge*& cell = rejected_[{plugin, profile}];
  if (cell == nullptr) {
    cell = &registry.Gauge(
        "scheduler_unschedulable_pods",
        "[BETA] The number of unschedulable pods broken down by plugin name. A pod will increment the gauge "
        "for "
        "all plugins that caused it to not schedule and so this metric have meaning only when broken down by "
        "plugin.",
        {{"plugin", plugin}, {"profile", profile}});
  }
  cell->Add(by);
}

metrics::Gauge& SchedulingQueue::Metrics::ByCause(std::string_view queue, const framework::QueuedPod& pod) {
  static constexpr std::size_t kCombinations = 256;
  const std::span<const std::string> plugins =
      pod.gated() ? std::span(&pod.gated_by, 1) : std::span<const std::string>(pod.rejectors);
  const bool error = plugins.empty() && pod.consecutive_errors > 0;
  const auto known = std::ranges::find_if(causes_, [&](const Cause& cause) {
    return cause.queue == queue && cause.error == error && std::ranges::equal(cause.plugins, plugins);
  });
  if (known != causes_.end()) return *known->cell;
  std::vector<std::string> names(plugins.begin(), plugins.end());
  std::ranges::sort(names);
  std::string text = error ? "error" : "new";
  if (!names.empty()) text = fmt::format("{}", fmt::join(names, "+"));
  const bool full = causes_.size() >= kCombinations;
  if (full) text = "other";
  metrics::Gauge& cell = registry.Gauge(
      "berth_pending_pods_by_cause",
      "[ALPHA] Number of pods in a queue, by cause: the plugins that rejected or gate them, joined "
      "by +; error; new for pods without an attempt.",
      {{"queue", std::string(queue)}, {"cause", text}});
  if (!full) causes_.push_back({queue, {plugins.begin(), plugins.end()}, error, &cell});
  return cell;
}

}  // namespace berth::queue
