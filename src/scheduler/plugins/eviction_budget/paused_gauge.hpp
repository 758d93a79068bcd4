// The metric of the workloads that EvictionBudget pauses.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "observability/metrics/registry.hpp"

namespace berth::plugins {

// The gauge of one profile. Exists from Export to the end of this object, which an instance of the plugin
// shares with the one that a reload replaces (framework::Handle::Keep). Set by one thread, exported by any.
class PausedGauge {
 public:
  PausedGauge() = default;
  ~PausedGauge();
  PausedGauge(const PausedGauge&) = delete;
  PausedGauge& operator=(const PausedGauge&) = delete;

  // The registry must outlive this object. Only the first call has an effect.
  void Export(metrics::Registry& registry, const std::string& profile);
  void Set(std::size_t workloads) { workloads_->store(workloads, std::memory_order_relaxed); }

 private:
  metrics::Registry* registry_ = nullptr;  // null: not exported
  metrics::Labels labels_;
  const std::shared_ptr<std::atomic<std::size_t>> workloads_ = std::make_shared<std::atomic<std::size_t>>(0);
};

}  // namespace berth::plugins
