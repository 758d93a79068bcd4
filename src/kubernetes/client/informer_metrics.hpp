// client-go 0.37's metrics of an informer; private to this module.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "observability/metrics/registry.hpp"

namespace berth::client {

class InformerMetrics {
 public:
  // `path` of the resource: "/apis/apps/v1/replicasets".
  InformerMetrics(metrics::Registry& registry, const std::string& group, std::string_view kind,
                  std::string_view path);

  // Sets the resource version of the current state.
  void At(std::string_view resource_version);
  // Records the time that delivering a change took.
  void Took(Duration time) { latency_.Observe(std::chrono::duration<double>(time).count()); }

 private:
  explicit InformerMetrics(metrics::Registry& registry, const metrics::Labels& labels);

  metrics::Gauge& version_;
  metrics::Histogram& latency_;
};

}  // namespace berth::client
