// What the metrics flags mean.
#pragma once

#include "base/result.hpp"
#include "process/scheduler_flags.hpp"
#include "config/feature_gates.hpp"
#include "observability/metrics/registry.hpp"

namespace berth::process {

// What kube-scheduler finds wrong with these flags, the manifest's contents included.
void CheckMetrics(const MetricsFlags& flags, std::vector<std::string>& errors);

// Reads the manifest of allowed labels, if one is named. Errors are kube-scheduler's texts.
Expected<metrics::RegistryOptions> MetricsOptionsOf(const MetricsFlags& flags);

// kubernetes_feature_enabled and version_info, as component-base 0.37 tells them.
void AddFeatureMetrics(metrics::Registry& registry, const config::FeatureGates& gates);

}  // namespace berth::process
