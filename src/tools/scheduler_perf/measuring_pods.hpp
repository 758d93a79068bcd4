// Counts the pods of the part of a test that collects metrics.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kubernetes/api/pod.hpp"
#include "tools/scheduler_perf/result.hpp"

namespace berth::scheduler_perf {

// Pods of some namespaces (none: all) that have all of some labels.
struct PodSelection {
  std::vector<std::string> namespaces;
  api::Labels labels;
  bool Contains(const api::Pod& pod) const {
    if (!namespaces.empty() && std::ranges::find(namespaces, pod.metadata.ns.str()) == namespaces.end())
      return false;
    return std::ranges::all_of(labels, [&](const auto& label) {
      const std::string* value = pod.metadata.labels.Find(label.first);
      return value != nullptr && *value == label.second;
    });
  }
};

// The state of the whole run at one time.
struct Totals {
  Duration now{};
  std::uint64_t attempts = 0, failed_attempts = 0;
  double cpu_seconds = 0;
};

// One thread.
class PodMeasurement {
 public:
  PodMeasurement(std::string name, PodSelection selection, const Totals& start)
      : selection_(std::move(selection)), start_(start) {
    result_.name = std::move(name);
  }
  void OnCreated(const api::Pod& pod) {
    if (selection_.Contains(pod)) ++result_.pods;
  }
  void OnBound(const api::Pod& pod, Duration now) {
    if (!selection_.Contains(pod)) return;
    ++result_.bound;
    result_.virtual_time = now - start_.now;
  }
  Measurement Finish(const Totals& end) && {
    result_.attempts = end.attempts - start_.attempts;
    result_.failed_attempts = end.failed_attempts - start_.failed_attempts;
    result_.cpu_seconds = end.cpu_seconds - start_.cpu_seconds;
    return std::move(result_);
  }

 private:
  const PodSelection selection_;
  const Totals start_;
  Measurement result_;
};

}  // namespace berth::scheduler_perf
