#include "queue/queue_meters.hpp"

namespace berth::queue {

SchedulingQueue::Meters::Meters(metrics::Registry& registry)
    : registry(registry),
      active(Pending("active")),
      backoff(Pending("backoff")),
      unschedulable(Pending("unschedulable")),
      gated(Pending("gated")) {}

metrics::Gauge& SchedulingQueue::Meters::Pending(const char* queue) {
  return registry.Gauge(
      "scheduler_pending_pods",
      "[STABLE] Number of pending pods, by the queue type. 'active' means number of pods in activeQ; "
      "'backoff' "
      "means number of pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods that the "
      "scheduler attempted to schedule and failed; 'gated' is the number of unschedulable pods that the "
      "scheduler never attempted to schedule because they are gated.",
      {{"queue", queue}});
}

void SchedulingQueue::Meters::Incoming(const char* queue, const char* event) {
  metrics::Counter*& cell = incoming_[{queue, event}];
  if (cell == nullptr) {
    cell = &registry.Counter("scheduler_queue_incoming_pods_total",
                             "[STABLE] Number of pods added to scheduling queues by event and queue type.",
                             {{"queue", queue}, {"event", event}});
  }
  cell->Add();
}

void SchedulingQueue::Meters::InFlightEvent(const char* event, std::int64_t by) {
  metrics::Gauge*& cell = in_flight_[event];
  if (cell == nullptr) {
    cell = &registry.Gauge("scheduler_inflight_events",
                           "[ALPHA] Number of events currently tracked in the scheduling queue.",
                           {{"event", event}});
  }
  cell->Add(by);
}

void SchedulingQueue::Meters::Rejected(const std::string& plugin, const std::string& profile,
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

}  // namespace berth::queue
