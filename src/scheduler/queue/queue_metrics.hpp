// The queue's metrics, under kube-scheduler's names; private to this module.
#pragma once

#include <array>
#include <map>
#include <string>
#include <utility>

#include "observability/metrics/registry.hpp"
#include "scheduler/queue/scheduling_queue.hpp"

namespace berth::queue {

// Metric cells are resolved once; those with variable labels (events, plugins) on first use.
struct SchedulingQueue::Metrics {
  explicit Metrics(metrics::Registry& registry);

  // A pod, or a group with `size` members, entered a queue (sign 1) or left it (-1).
  void Changed(QueueName queue, bool is_group, std::size_t size, std::int64_t sign);
  // scheduler_pending_pods with this label.
  metrics::Gauge& Pending(const char* queue);
  // `event` is a string literal. `entity_counts`: not only its pods.
  void Incoming(QueueName queue, const char* event, bool is_group, std::size_t size, bool entity_counts);
  void InFlightEvent(const char* event, std::int64_t by);
  // Adds `by` to the number of pods rejected by this plugin.
  void Rejected(const std::string& plugin, const std::string& profile, std::int64_t by);

  // The gauge of pods in a queue ("active", ...) by the plugins of their last rejection. Each pod counts
  // once.
  metrics::Gauge& ByCause(std::string_view queue, const framework::QueuedEntity& entity);

  metrics::Registry& registry;

 private:
  struct Arrivals {
    metrics::Counter* pods = nullptr;
    metrics::Counter* entities[2] = {};  // pods, groups
  };
  metrics::Gauge& Entities(QueueName queue, bool is_group);
  // Searched linearly: there are few, and no hash is needed.
  struct Cause {
    std::string_view queue;  // a string literal
    std::vector<std::string> plugins;
    bool error = false;
    metrics::Gauge* cell = nullptr;
  };

  std::array<metrics::Gauge*, 4> pods_;                                  // by QueueName
  std::array<std::array<metrics::Gauge*, 2>, 4> entities_;               // pods, groups; null: not used yet
  std::map<std::pair<QueueName, std::string_view>, Arrivals> incoming_;  // keys are string literals
  std::map<std::string_view, metrics::Gauge*> in_flight_;
  std::map<std::pair<std::string, std::string>, metrics::Gauge*> rejected_;
  std::vector<Cause> causes_;
};

}  // namespace berth::queue
