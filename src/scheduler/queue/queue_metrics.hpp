// The queue's metrics under kube-scheduler's names; private to this module.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "observability/metrics/registry.hpp"
#include "scheduler/queue/scheduling_queue.hpp"

namespace berth::queue {

// Cells are looked up once; the rare labels (events, plugins) on first use.
struct SchedulingQueue::Meters {
  explicit Meters(metrics::Registry& registry);

  void Incoming(const char* queue, const char* event);
  void InFlightEvent(const char* event, std::int64_t by);
  // The rejectors of a pod.
  void Rejected(const std::string& plugin, const std::string& profile, std::int64_t by);

  // Pods in a queue ("active", ...), by what held them back last. Every pod counts once.
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
  // Looked for one after the other: there are few, and nothing is hashed.
  struct Cause {
    std::string_view queue;  // a literal
    std::vector<std::string> plugins;
    bool error = false;
    metrics::Gauge* cell = nullptr;
  };

  std::map<std::pair<std::string_view, std::string_view>, Arrivals> incoming_;  // keys are literals
  std::map<std::string_view, metrics::Gauge*> in_flight_;
  std::map<std::pair<std::string, std::string>, metrics::Gauge*> rejected_;
  std::vector<Cause> causes_;
};

}  // namespace berth::queue
