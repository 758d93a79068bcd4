// The signals behind LoadAware's forecast, as queries to Prometheus.
#pragma once

#include <string>
#include <string_view>

#include "scheduler/load_metrics/signal_table.hpp"
#include "scheduler/plugins/load_aware/load_aware_args.hpp"

namespace berth::plugins {

// The number of workloads of which forecasts are stored. Those beyond it count with their requests.
inline constexpr std::size_t kMostForecastWorkloads = 20'000;

// The usage of a pod of each workload (Subject::kWorkload) that is to be expected within the horizon, in
// cores or bytes: the percentile of the usage of its pods in the same hours of the last periods; of a
// workload without pods then, within the last horizon. Pods count from an age of five minutes. `resource`:
// cpu or memory. Precondition: plugin.forecast is set.
load_metrics::SignalSpec ForecastSpecOf(std::string_view resource, const LoadAwareArgs& plugin);

// The usage of all containers of a node, in cores or bytes.
load_metrics::SignalSpec ContainerUseSpecOf(std::string_view resource, const LoadAwareArgs& plugin);
std::string ContainerUseName(std::string_view resource);

// The label of kube_pod_labels in which kube-state-metrics stores a label of pods: "app.kubernetes.io/name"
// -> "label_app_kubernetes_io_name".
std::string StateMetricsLabel(std::string_view pod_label);

}  // namespace berth::plugins
