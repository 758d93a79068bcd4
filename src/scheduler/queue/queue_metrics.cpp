#include "scheduler/queue/queue_metrics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

namespace berth::queue {
namespace {

constexpr const char* kQueues[] = {"active", "backoff", "unschedulable", "gated"};
constexpr const char* kTypes[] = {"pod", "podgroup"};

}  // namespace

// Series of groups appear with the first group.
SchedulingQueue::Metrics::Metrics(metrics::Registry& registry) : registry(registry) {
  for (std::size_t i = 0; i < pods_.size(); ++i) {
    pods_[i] = &Pending(kQueues[i]);
    entities_[i] = {&Entities(static_cast<QueueName>(i), false), nullptr};
  }
}

metrics::Gauge& SchedulingQueue::Metrics::Pending(const char* queue) {
  return registry.Gauge(
      "scheduler_pending_pods",
      "[STABLE] Number of pending pods, by the queue type. 'active' means number of pods in activeQ; "
      "'backoff' means number of pods in backoffQ; 'unschedulable' means number of pods in "
      "unschedulableEntities that the scheduler attempted to schedule and failed; 'gated' is the number of "
      "unschedulable pods that the scheduler never attempted to schedule because they are gated; "
      "'incomplete' means number of pods in incompletePodGroupPods; 'pending' means number of pods in "
      "pendingPodGroupPods.",
      {{"queue", queue}});
}

metrics::Gauge& SchedulingQueue::Metrics::Entities(QueueName queue, bool is_group) {
  return registry.Gauge(
      "scheduler_queued_entities",
      "[ALPHA] Number of queued scheduling entities ('pod' or 'podgroup'; 'pod' stands for individual pods "
      "that are not members of any podgroup) by the queue type. 'active' means number of entities in "
      "activeQ; 'backoff' means number of entities in backoffQ; 'unschedulable' means number of entities in "
      "unschedulableEntities that the scheduler attempted to schedule and failed; 'gated' is the number of "
      "unschedulable entities that the scheduler never attempted to schedule because they are gated.",
      {{"queue", kQueues[static_cast<std::size_t>(queue)]}, {"type", kTypes[is_group ? 1 : 0]}});
}

void SchedulingQueue::Metrics::Changed(QueueName queue, bool is_group, std::size_t size, std::int64_t sign) {
  const auto index = static_cast<std::size_t>(queue);
  pods_[index]->Add(sign * static_cast<std::int64_t>(size));
  metrics::Gauge*& entities = entities_[index][is_group ? 1 : 0];
  if (entities == nullptr) entities = &Entities(queue, is_group);
  entities->Add(sign);
}

void SchedulingQueue::Metrics::Incoming(QueueName queue, const char* event, bool is_group, std::size_t size,
                                        bool entity_counts) {
  Arrivals& cells = incoming_[{queue, event}];
  const char* name = kQueues[static_cast<std::size_t>(queue)];
  if (cells.pods == nullptr) {
    cells.pods =
        &registry.Counter("scheduler_queue_incoming_pods_total",
                          "[STABLE] Number of pods added to scheduling queues by event and queue type.",
                          {{"queue", name}, {"event", event}});
  }
  cells.pods->Add(size);
  if (!entity_counts) return;
  metrics::Counter*& entities = cells.entities[is_group ? 1 : 0];
  if (entities == nullptr) {
    entities = &registry.Counter(
        "scheduler_queue_incoming_entities_total",
        "[ALPHA] Number of scheduling entities added to scheduling queues by event, queue type, and entity "
        "type. Entity types are either 'pod' (for individual pods that are not members of any podgroup) or "
        "'podgroup'.",
        {{"queue", name}, {"event", event}, {"type", kTypes[is_group ? 1 : 0]}});
  }
  entities->Add();
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

metrics::Gauge& SchedulingQueue::Metrics::ByCause(std::string_view queue,
                                                  const framework::QueuedEntity& entity) {
  static constexpr std::size_t kCombinations = 256;
  const std::span<const std::string> plugins =
      entity.gated() ? std::span(&entity.gated_by, 1) : std::span<const std::string>(entity.rejectors);
  const bool error = plugins.empty() && entity.consecutive_errors > 0;
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
