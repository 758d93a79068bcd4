// The queue's metrics, under kube-scheduler's names; private to this module.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "observability/metrics/registry.hpp"
#include "scheduler/queue/scheduling_queue.hpp"

namespace berth::queue {

// Metric cells are resolved once; those with variable labels (events, plugins) on first use.
struct SchedulingQueue::Metrics {
  explicit Metrics(metrics::Registry& registry);

  void Incoming(const char* queue, const char* event);
  void InFlightEvent(const char* event, std::int64_t by);
  // Adds `by` to the number of pods rejected by this plugin.
  void Rejected(const std::string& plugin, const std::string& profile, std::int64_t by);

  // The gauge of pods in a queue ("active", ...) by the plugins of their last rejection. Each pod counts
  // once.
  metrics::Gauge& ByCause(std::string_view queue, const framework::QueuedPod& pod);

  metrics::Registry& registry;
  metrics::Gauge& active;
  metrics::Gauge& backoff;
  metrics::Gauge& unschedulable;
  metrics::Gauge& gated;

 private:
  struct Arrivals {
    metrics::Counter* pods = nullptr;
    metrics::Counter* entities = nullptr;
  };
  metrics::Gauge& Pending(const char* queue, bool is_queue = true);
  // Searched linearly: there are few, and no hash is needed.
  struct Cause {
    std::string_view queue;  // a string literal
    std::vector<std::string> plugins;
    bool error = false;
    metrics::Gauge* cell = nullptr;
  };

  std::map<std::pair<std::string_view, std::string_view>, Arrivals> incoming_;  // keys are string literals
  std::map<std::string_view, metrics::Gauge*> in_flight_;
  std::map<std::pair<std::string, std::string>, metrics::Gauge*> rejected_;
  std::vector<Cause> causes_;
};

}  // namespace berth::queue
