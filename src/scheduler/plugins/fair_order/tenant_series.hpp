// The metrics of one tenant.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "observability/metrics/registry.hpp"

namespace berth::plugins {

// Exists as long as this object; the registry must outlive it. Set by one thread, exported by any.
class TenantSeries {
 public:
  TenantSeries(metrics::Registry& registry, const std::string& tenant, double weight);
  ~TenantSeries();
  TenantSeries(const TenantSeries&) = delete;
  TenantSeries& operator=(const TenantSeries&) = delete;

  void SetShare(double share) { values_->share.store(share, std::memory_order_relaxed); }
  void SetWaiting(std::size_t entries) { values_->waiting.store(entries, std::memory_order_relaxed); }

 private:
  struct Values {
    std::atomic<double> share = 0;
    std::atomic<std::size_t> waiting = 0;
  };
  metrics::Registry& registry_;
  const metrics::Labels labels_;
  const std::shared_ptr<Values> values_ = std::make_shared<Values>();
};

}  // namespace berth::plugins
