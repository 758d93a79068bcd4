// The loop's share of a request from another thread.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "observability/metrics/registry.hpp"

namespace berth::cycle {

// Measures the steps that a request takes on the scheduler loop, and observes the longest one when the
// request ends. A request without a step is not observed. Steps are measured on the loop's thread.
class LongestStep {
 public:
  // `request`: the label of the metric, such as "pod". `clock` and the registry must outlive the result. Any
  // thread.
  static std::shared_ptr<LongestStep> Of(std::string request, metrics::Registry& metrics,
                                         const Clock& clock) {
    static const std::vector<double> kBuckets = metrics::ExponentialBuckets(0.00001, 2, 12);
    return std::make_shared<LongestStep>(
        metrics.Histogram("berth_api_loop_step_duration_seconds",
                          "[ALPHA] The longest step on the scheduler loop of a request to the scheduler's "
                          "API, by kind of request.",
                          kBuckets, {{"request", std::move(request)}}),
        clock);
  }
  LongestStep(metrics::Histogram& histogram, const Clock& clock) : histogram_(histogram), clock_(clock) {}
  ~LongestStep() {
    if (longest_ >= Duration::zero()) histogram_.Observe(std::chrono::duration<double>(longest_).count());
  }
  LongestStep(const LongestStep&) = delete;
  LongestStep& operator=(const LongestStep&) = delete;

  // A step lasts as long as this object. The request may end within it.
  class Step {
   public:
    explicit Step(std::shared_ptr<LongestStep> of) : of_(std::move(of)), began_(of_->clock_.Now()) {}
    ~Step() { of_->longest_ = std::max(of_->longest_, Duration(of_->clock_.Now() - began_)); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    const std::shared_ptr<LongestStep> of_;
    const MonoTime began_;
  };

 private:
  metrics::Histogram& histogram_;
  const Clock& clock_;
  Duration longest_{-1};
};

}  // namespace berth::cycle
