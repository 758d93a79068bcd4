#include "scheduler/cycle/class_latency.hpp"

#include <chrono>
#include <utility>

namespace berth::cycle {

ClassLatency::ClassLatency(metrics::Registry& registry, ClassLatencyOptions options)
    : registry_(registry), options_(std::move(options)) {}

void ClassLatency::Observe(const framework::QueuedPod& pod, MonoTime now) {
  HistogramOf(pod).Observe(std::chrono::duration<double>(now - pod.first_attempt_ready).count());
}

metrics::Histogram& ClassLatency::HistogramOf(const framework::QueuedPod& pod) {
  const std::string* value = pod.info.pod->metadata.labels.Find(options_.label);
  if (value == nullptr || value->empty()) {
    if (none_ == nullptr) none_ = &Make("none");
    return *none_;
  }
  if (const auto known = classes_.find(*value); known != classes_.end()) return *known->second;
  if (classes_.size() < options_.most_classes) return *classes_.emplace(*value, &Make(*value)).first->second;
  if (other_ == nullptr) other_ = &Make("other");
  return *other_;
}

metrics::Histogram& ClassLatency::Make(const std::string& name) {
  return registry_.Histogram(
      "berth_pod_bind_duration_seconds",
      "[ALPHA] Time from the first entry of a pod into the scheduling queue until it is bound, by workload "
      "class (--berth-class-label).",
      metrics::ExponentialBuckets(0.01, 2, 20), {{"class", name}});
}

}  // namespace berth::cycle
