// Time to bind by workload class, for service levels.
#pragma once

#include <cstddef>
#include <string>

#include "base/clock.hpp"
#include "base/text_map.hpp"
#include "observability/metrics/registry.hpp"
#include "scheduler/framework/queued_pod.hpp"

namespace berth::cycle {

// A pod's class is the value of a label.
struct ClassLatencyOptions {
  std::string label;              // empty: no metric
  std::size_t most_classes = 20;  // further values share the class "other"
};

// The histogram berth_pod_bind_duration_seconds{class}: the time from a pod's first entry into activeQ until
// it is bound, as in scheduler_pod_scheduling_sli_duration_seconds. Pods without the label, or with an empty
// value, have the class "none". Scheduler loop only.
class ClassLatency {
 public:
  ClassLatency(metrics::Registry& registry, ClassLatencyOptions options);

  void Bound(const framework::QueuedPod& pod, MonoTime now) {
    if (!options_.label.empty()) Observe(pod, now);
  }

 private:
  void Observe(const framework::QueuedPod& pod, MonoTime now);
  metrics::Histogram& HistogramOf(const framework::QueuedPod& pod);
  metrics::Histogram& Make(const std::string& name);

  metrics::Registry& registry_;
  const ClassLatencyOptions options_;
  FlatTextMap<metrics::Histogram*> classes_;  // by value of the label
  metrics::Histogram* other_ = nullptr;       // null: not used yet
  metrics::Histogram* none_ = nullptr;
};

}  // namespace berth::cycle
