// client-go 0.37's metrics of an informer; private to this module.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "observability/metrics/registry.hpp"

namespace berth::client {

class InformerMetrics {
 public:
  // `path` is where the resource is found: "/apis/apps/v1/replicasets".
  InformerMetrics(metrics::Registry& registry, const std::string& group, std::string_view kind,
                 std::string_view path);

  // The state is that of this version.
  void At(std::string_view resource_version);
  // A change was handed on.
  void Took(Duration time) { latency_.Observe(std::chrono::duration<double>(time).count()); }

 private:
  explicit InformerMetrics(metrics::Registry& registry, const metrics::Labels& labels);

  metrics::Gauge& version_;
  metrics::Histogram& latency_;
};

}  // namespace berth::client
