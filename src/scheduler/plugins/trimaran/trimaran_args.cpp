#include "scheduler/plugins/trimaran/trimaran_args.hpp"

#include <fmt/format.h>

#include "base/go_duration.hpp"
#include "scheduler/load_metrics/watcher_answer.hpp"
#include "scheduler/plugins/load_metrics/prometheus_args.hpp"

namespace berth::plugins {
namespace {

using config::Problems;
using config::StructReader;
using config::Value;
using load_metrics::SignalSpec;

constexpr std::string_view kPrometheusProvider = "Prometheus";
constexpr std::string_view kDefaultProvider = "KubernetesMetricsServer";
// The default of load-watcher's client.
constexpr std::string_view kDefaultPrometheus = "http://prometheus-k8s:9090";
// Load-watcher has windows of 15, 10 and 5 minutes; the plugins read the longest.
constexpr Duration kLoadWindow = std::chrono::minutes(15);

// The deviation of CPU usage needs the rates of all processors at 15 times. Load-watcher, too, refreshes once
// per minute.
constexpr Duration kDeviationInterval = std::chrono::minutes(1);

// Load-watcher reads the recording rules instance:node_cpu:ratio and instance:node_memory_utilisation:ratio,
// which current monitoring stacks no longer have. These are the same values from node exporter's metrics.
std::string PercentQuery(NodeLoad load, LoadStatistic statistic, const std::string& window) {
  constexpr std::string_view kUsedMemory =
      "100 * (1 - max by ($node) (node_memory_MemAvailable_bytes) / max by ($node) "
      "(node_memory_MemTotal_bytes))";
  const std::string_view of = statistic == LoadStatistic::kDeviation ? "stddev_over_time" : "avg_over_time";
  if (load == NodeLoad::kMemory) return fmt::format("{}(({})[{}:1m])", of, kUsedMemory, window);
  // A rate is a mean already.
  if (statistic != LoadStatistic::kDeviation) return fmt::format("100 * ({})", BusyShareOf(window));
  return fmt::format("{}((100 * ({}))[{}:1m])", of, BusyShareOf("5m"), window);
}

std::string_view TextOf(LoadStatistic statistic) {
  switch (statistic) {
    case LoadStatistic::kUtilization:
      return "utilization";
    case LoadStatistic::kAverage:
      return "average";
    case LoadStatistic::kDeviation:
      break;
  }
  return "deviation";
}

std::string_view WatcherQuantity(NodeLoad load, LoadStatistic statistic) {
  const bool cpu = load == NodeLoad::kCpu;
  switch (statistic) {
    case LoadStatistic::kUtilization:
      return load_metrics::kWatcherCpuUtilization;
    case LoadStatistic::kAverage:
      return cpu ? load_metrics::kWatcherCpuAverage : load_metrics::kWatcherMemoryAverage;
    case LoadStatistic::kDeviation:
      break;
  }
  return cpu ? load_metrics::kWatcherCpuDeviation : load_metrics::kWatcherMemoryDeviation;
}

SignalSpec WatcherSignal(const TrimaranArgs& args, std::string name, std::string_view quantity) {
  return {.name = std::move(name),
          .source = args.watcher_address,
          .expression = std::string(quantity),
          .window = kLoadWindow,
          .hold = args.hold_for,
          .access = {.protocol = load_metrics::Protocol::kLoadWatcher}};
}

void ReadProvider(const Value& value, const std::string& path, TrimaranArgs::MetricProvider& provider,
                  Problems& problems) {
  StructReader reader(value, "MetricProviderSpec", path, problems);
  reader.Read("type", provider.type, "v1.MetricProviderType");
  reader.Read("address", provider.address);
  reader.Read("token", provider.token);
  reader.Read("insecureSkipVerify", provider.insecure_skip_verify);
  reader.Finish();
}

}  // namespace

void ReadTrimaranArgs(StructReader& reader, TrimaranArgs& args, Problems& problems) {
  reader.With(
      "metricProvider",
      [&](const Value& value, const std::string& path) {
        ReadProvider(value, path, args.provider, problems);
      },
      "v1.MetricProviderSpec");
  reader.Read("watcherAddress", args.watcher_address);
  if (!reader.Has("watcherAddress") && args.provider.type.empty()) args.provider.type = kDefaultProvider;
  ReadGoDuration(reader, "holdFor", args.hold_for, problems);
  std::string unmeasured;
  reader.Read("unmeasuredNodes", unmeasured);
  args.median_if_unmeasured = unmeasured != "zero";
  if (!unmeasured.empty() && unmeasured != "zero" && unmeasured != "median") {
    problems.Other(fmt::format(
        "unmeasuredNodes: Unsupported value: \"{}\": supported values: \"median\", \"zero\"", unmeasured));
  }
}

void CheckTrimaranArgs(const TrimaranArgs& args, const std::string& path, std::vector<std::string>& errors) {
  CheckPositive(args.hold_for, path + ".holdFor", errors);
  if (!args.watcher_address.empty())
    return CheckSource(args.watcher_address, path + ".watcherAddress", errors);
  if (args.provider.type != kPrometheusProvider) {
    errors.push_back(fmt::format(
        "{}.metricProvider.type: Unsupported value: \"{}\": supported values: \"{}\"; for other providers "
        "run load-watcher and set watcherAddress",
        path, args.provider.type, kPrometheusProvider));
    return;
  }
  if (!args.provider.address.empty())
    CheckSource(args.provider.address, path + ".metricProvider.address", errors);
}

void WriteTrimaranArgs(const TrimaranArgs& args, Value& out) {
  if (!args.provider.type.empty()) {
    Value provider = Value::Map();
    provider.Set("type", Value::Text(args.provider.type));
    if (!args.provider.address.empty()) provider.Set("address", Value::Text(args.provider.address));
    if (!args.provider.token.empty()) provider.Set("token", Value::Text(args.provider.token));
    provider.Set("insecureSkipVerify", Value::Bool(args.provider.insecure_skip_verify));
    out.Set("metricProvider", std::move(provider));
  }
  if (!args.watcher_address.empty()) out.Set("watcherAddress", Value::Text(args.watcher_address));
  out.Set("holdFor", Value::Text(FormatGoDuration(args.hold_for)));
  out.Set("unmeasuredNodes", Value::Text(args.median_if_unmeasured ? "median" : "zero"));
}

Value Float64(double value) {
  Value out = Value::Number(0);
  out.text = fmt::format("{}", value);
  return out;
}

SignalSpec LoadSignalOf(const TrimaranArgs& args, NodeLoad load, LoadStatistic statistic) {
  const std::string resource = load == NodeLoad::kCpu ? "cpu" : "memory";
  const std::string name = fmt::format("{} {}", resource, TextOf(statistic));
  if (!args.watcher_address.empty()) return WatcherSignal(args, name, WatcherQuantity(load, statistic));
  const std::string window = PromQlDuration(kLoadWindow);
  const TrimaranArgs::MetricProvider& provider = args.provider;
  const bool skip_verify = provider.insecure_skip_verify && !provider.token.empty();
  return {.name = name,
          .source = provider.address.empty() ? std::string(kDefaultPrometheus) : provider.address,
          .expression = PercentQuery(load, statistic, window),
          .window = kLoadWindow,
          .hold = args.hold_for,
          .guards = GuardsOf(resource, load == NodeLoad::kCpu ? kOneProcessor : "node_memory_MemTotal_bytes",
                             window),
          .every = statistic == LoadStatistic::kDeviation ? kDeviationInterval : Duration{},
          .access = {.bearer_token = provider.token, .insecure_skip_verify = skip_verify}};
}

SignalSpec PresenceSignalOf(const TrimaranArgs& args) {
  return WatcherSignal(args, "any metric", load_metrics::kWatcherAny);
}

}  // namespace berth::plugins
