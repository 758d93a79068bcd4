#include "scheduler/plugins/load_aware/forecast_query.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/ascii.hpp"
#include "base/check.hpp"
#include "scheduler/plugins/load_aware/presets.hpp"
#include "scheduler/plugins/load_metrics/prometheus_args.hpp"

namespace berth::plugins {
namespace {

// The usage within the horizon is read at this many times.
constexpr int kReadings = 6;
constexpr Duration kLeastStep = std::chrono::minutes(1);
// Younger pods do not count: they start, and their rates cover a part of the window.
constexpr std::string_view kYoungest = "5m";
constexpr Duration kContainerUseWindow = std::chrono::minutes(5);

// The labels by which Prometheus groups pods to workloads, the namespace first.
std::vector<std::string> WorkloadLabels(const LoadForecastArgs& args) {
  if (args.workload_labels.empty()) return {"namespace", "owner_kind", "owner_name"};
  std::vector<std::string> labels = {"namespace"};
  for (const std::string& label : args.workload_labels) labels.push_back(StateMetricsLabel(label));
  return labels;
}

// 1 for each pod, with the labels of its workload. The maximum removes duplicates of redundant servers.
std::string WorkloadsOfPods(const LoadForecastArgs& args, const std::vector<std::string>& labels) {
  std::string selector = R"(kube_pod_owner{owner_is_controller="true"})";
  if (!args.workload_labels.empty()) {
    std::vector<std::string> present;
    for (std::size_t i = 1; i < labels.size(); ++i) present.push_back(labels[i] + R"(!="")");
    selector = fmt::format("kube_pod_labels{{{}}}", fmt::join(present, ","));
  }
  return fmt::format("max by (pod,{}) ({} offset {})", fmt::join(labels, ","), selector, kYoungest);
}

}  // namespace

load_metrics::SignalSpec ForecastSpecOf(std::string_view resource, const LoadAwareArgs& plugin) {
  BERTH_CHECK(plugin.forecast.has_value(), resource);
  const LoadForecastArgs& args = *plugin.forecast;
  const Duration step = std::max(args.horizon / kReadings, kLeastStep);
  const std::vector<std::string> labels = WorkloadLabels(args);
  const std::string by = fmt::format("{}", fmt::join(labels, ","));
  const std::string quantile = fmt::format("{}", args.percentile / 100);
  const std::string use =
      fmt::format("{} * on (namespace,pod) group_left ({}) {}", UseOf(resource, PromQlDuration(step)),
                  fmt::join(labels.begin() + 1, labels.end(), ","), WorkloadsOfPods(args, labels));
  // The usage of each pod within the horizon that began `ago` ago.
  const auto within = [&](Duration ago) {
    const Duration offset = ago - args.horizon;
    return fmt::format("quantile_over_time({}, ({})[{}:{}]{})", quantile, use, PromQlDuration(args.horizon),
                       PromQlDuration(step),
                       offset == Duration{} ? std::string() : " offset " + PromQlDuration(offset));
  };
  // Series of different periods must differ in a label, or the first one would hide the others.
  std::vector<std::string> periods;
  for (std::int64_t i = 1; i <= args.periods; ++i)
    periods.push_back(
        fmt::format(R"(label_replace({}, "period", "{}", "", ""))", within(i * args.period), i));
  return {.name = fmt::format("forecast of workloads: {}", resource),
          .source = plugin.prometheus_address,
          .expression = fmt::format("quantile by ({0}) ({1}, {2}) or quantile by ({0}) ({1}, {3})", by,
                                    quantile, fmt::join(periods, " or "), within(args.horizon)),
          .window = args.horizon,
          // The past does not change: a forecast is valid until its hours are over.
          .hold = std::max(plugin.hold_for, args.horizon),
          .subject = load_metrics::Subject::kWorkload,
          .every = args.poll_interval,
          .series_labels = labels,
          .max_series = kMostForecastWorkloads};
}

std::string ContainerUseName(std::string_view resource) {
  return fmt::format("use of containers by node: {}", resource);
}

load_metrics::SignalSpec ContainerUseSpecOf(std::string_view resource, const LoadAwareArgs& plugin) {
  return {.name = ContainerUseName(resource),
          .source = plugin.prometheus_address,
          .expression = UseByNode(resource, PromQlDuration(kContainerUseWindow)),
          .window = kContainerUseWindow,
          .hold = plugin.hold_for};
}

// As kube-state-metrics: other characters become "_", and camel case becomes snake case.
std::string StateMetricsLabel(std::string_view pod_label) {
  std::string label = "label_";
  char before = '_';
  for (const char c : pod_label) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool lower = c >= 'a' && c <= 'z';
    if (upper && ((before >= 'a' && before <= 'z') || IsAsciiDigit(before))) label += '_';
    if (upper) {
      label += static_cast<char>(c - 'A' + 'a');
    } else {
      label += lower || IsAsciiDigit(c) ? c : '_';
    }
    before = c;
  }
  return label;
}

}  // namespace berth::plugins
