// Evaluates the metrics flags.
#pragma once

#include "base/result.hpp"
#include "config/feature_gates.hpp"
#include "observability/metrics/registry.hpp"
#include "process/scheduler_flags.hpp"

namespace berth::process {

// Appends kube-scheduler's validation errors of these flags, including those of the manifest.
void CheckMetrics(const MetricsFlags& flags, std::vector<std::string>& errors);

// Reads the manifest of allowed labels, if the flags name one. Errors are kube-scheduler's texts.
Expected<metrics::RegistryOptions> MetricsOptionsOf(const MetricsFlags& flags);

// kubernetes_feature_enabled and version_info, as in component-base 0.37.
void AddFeatureMetrics(metrics::Registry& registry, const config::FeatureGates& gates);

}  // namespace berth::process
