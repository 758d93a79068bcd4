// The metric of the time in which preemption determines its victims.
#pragma once

#include <chrono>
#include <string>

#include "base/clock.hpp"
#include "observability/metrics/registry.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/status.hpp"

namespace berth::plugins {

// Measures from its construction. As in kube-scheduler, only with the feature gate GenericWorkload.
class EvaluationTimer {
 public:
  // `preemptor`: "pod" or "podgroup". Both must outlive this object.
  EvaluationTimer(framework::Handle& handle, const char* preemptor)
      : metrics_(handle.gates.Enabled("GenericWorkload") ? handle.metrics : nullptr), preemptor_(preemptor) {
    if (metrics_ != nullptr) started_ = clock_.Now();
  }

  void Observe(framework::Code result) const {
    if (metrics_ == nullptr) return;
    metrics_
        ->Histogram("scheduler_preemption_evaluation_duration_seconds",
                    "[ALPHA] Duration in seconds for identifying the target preemption victims.",
                    metrics::ExponentialBuckets(0.001, 2, 16),
                    {{"preemptor", preemptor_}, {"result", std::string(framework::CodeName(result))}})
        .Observe(std::chrono::duration<double>(clock_.Now() - started_).count());
  }

 private:
  const SystemClock clock_;
  metrics::Registry* metrics_;
  const char* preemptor_;
  MonoTime started_{};
};

}  // namespace berth::plugins
