#include "scheduler/plugins/load_aware/presets.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/plugins/load_metrics/prometheus_args.hpp"

namespace berth::plugins {
namespace {

struct BuiltIn {
  std::string_view name;
  std::string_view query;  // empty: BusyShareOf
  LoadEstimate::From from;
  std::string_view resource;
  std::string_view guard;  // metric
};

constexpr std::string_view kNodeExporter = "node_load1";

// Fractions of the node's capacity, 0 to 1. Virtual interfaces and disks are excluded; bridges and loop
// devices are not hardware, and slaves of bonds are handled by the maximum.
#define BERTH_REAL_LINKS \
  R"({device!~"lo|veth.*|cali.*|cni.*|docker.*|flannel.*|br-.*|ifb.*|tunl.*|kube-ipvs.*"})"
#define BERTH_REAL_DISKS R"({device!~"(loop|ram|zram|sr|dm-|md|fd).*"})"

using enum LoadEstimate::From;

constexpr std::string_view kRealLinks = BERTH_REAL_LINKS;

constexpr BuiltIn kBuiltIns[] = {
    {"cpu", "", kRequest, "cpu", kOneProcessor},
    {"memory",
     "1 - max by ($node) (node_memory_MemAvailable_bytes) / max by ($node) (node_memory_MemTotal_bytes)",
     kRequest, "memory", kNodeExporter},
    {"network-receive",
     "max by ($node) (rate(node_network_receive_bytes_total" BERTH_REAL_LINKS
     "[$window]) / (node_network_speed_bytes > 0))",
     kMean, "", kNodeExporter},
    {"network-transmit",
     "max by ($node) (rate(node_network_transmit_bytes_total" BERTH_REAL_LINKS
     "[$window]) / (node_network_speed_bytes > 0))",
     kMean, "", kNodeExporter},
    {"disk", "max by ($node) (rate(node_disk_io_time_seconds_total" BERTH_REAL_DISKS "[$window]))", kMean, "",
     kNodeExporter},
    {"load", R"(max by ($node) (node_load1) / count by ($node) (node_cpu_seconds_total{mode="idle"}))",
     kRequest, "cpu", kNodeExporter},
    {"cpu-pressure", "max by ($node) (rate(node_pressure_cpu_waiting_seconds_total[$window]))", kMean, "",
     kNodeExporter},
    {"memory-pressure", "max by ($node) (rate(node_pressure_memory_waiting_seconds_total[$window]))", kMean,
     "", kNodeExporter},
    {"io-pressure", "max by ($node) (rate(node_pressure_io_waiting_seconds_total[$window]))", kMean, "",
     kNodeExporter},
    {"gpu", "avg by ($node) (DCGM_FI_DEV_GPU_UTIL) / 100", kMean, "", ""},
    {"gpu-memory",
     "sum by ($node) (DCGM_FI_DEV_FB_USED) / (sum by ($node) (DCGM_FI_DEV_FB_USED) + sum by ($node) "
     "(DCGM_FI_DEV_FB_FREE))",
     kMean, "", ""},
};
#undef BERTH_REAL_LINKS
#undef BERTH_REAL_DISKS

const BuiltIn* Find(std::string_view name) {
  const auto found = std::ranges::find(kBuiltIns, name, &BuiltIn::name);
  return found == std::end(kBuiltIns) ? nullptr : found;
}

LoadSignalArgs Signal(std::string_view name, std::int64_t weight, double threshold,
                      std::optional<double> target = {}) {
  LoadSignalArgs signal = *BuiltInSignal(name);
  signal.weight = weight;
  signal.threshold = threshold;
  signal.target = target;
  return signal;
}

// Per container cgroup, because a pod's own cgroup and its sandbox would be counted in addition. Sums over it
// begin with the maximum by container, which removes the duplicates of redundant servers.
std::string UseOfContainers(std::string_view resource, std::string_view window) {
  constexpr std::string_view kContainers = R"({container!="",container!="POD"})";
  if (resource == "cpu")
    return fmt::format("rate(container_cpu_usage_seconds_total{}[{}])", kContainers, window);
  if (resource == "memory") return fmt::format("container_memory_working_set_bytes{}", kContainers);
  return {};
}

std::string_view DirectionOf(std::string_view signal) {
  constexpr std::string_view kNetwork = "network-";
  return signal == "network-receive" || signal == "network-transmit" ? signal.substr(kNetwork.size())
                                                                     : std::string_view();
}

}  // namespace

std::optional<LoadSignalArgs> BuiltInSignal(std::string_view name) {
  const BuiltIn* known = Find(name);
  if (known == nullptr) return std::nullopt;
  LoadSignalArgs signal;
  signal.name = name;
  signal.query = known->query.empty() ? BusyShareOf("$window") : std::string(known->query);
  signal.estimate = {.from = known->from, .resource = std::string(known->resource), .factor = 1};
  return signal;
}

std::vector<std::string> BuiltInSignalNames() {
  std::vector<std::string> names;
  for (const BuiltIn& signal : kBuiltIns) names.emplace_back(signal.name);
  return names;
}

std::optional<std::vector<LoadSignalArgs>> PresetSignals(std::string_view name) {
  if (name == "none") return std::vector<LoadSignalArgs>();
  if (name == "balanced") return std::vector{Signal("cpu", 1, 90), Signal("memory", 1, 90)};
  if (name == "packing") return std::vector{Signal("cpu", 1, 85, 60), Signal("memory", 1, 90, 70)};
  if (name == "streaming") {
    std::vector signals{Signal("cpu", 2, 80), Signal("memory", 1, 90), Signal("network-receive", 1, 80),
                        Signal("network-transmit", 1, 80), Signal("disk", 1, 85)};
    for (LoadSignalArgs& signal : signals) {
      if (signal.estimate.from == kRequest) signal.estimate.from = kHistory;
    }
    return signals;
  }
  return std::nullopt;
}

std::vector<std::string> PresetNames() { return {"balanced", "packing", "streaming", "none"}; }

std::string UseOf(std::string_view resource, std::string_view window) {
  const std::string containers = UseOfContainers(resource, window);
  if (containers.empty()) return {};
  return fmt::format("sum by (namespace,pod) (max by (namespace,pod,container) ({}))", containers);
}

std::string UseByNode(std::string_view resource, std::string_view window) {
  const std::string containers = UseOfContainers(resource, window);
  if (containers.empty()) return {};
  return fmt::format("sum by ($node) (max by ($node,namespace,pod,container) ({}))", containers);
}

std::string TrafficOfPods(std::string_view signal, std::string_view window) {
  const std::string_view direction = DirectionOf(signal);
  if (direction.empty()) return {};
  return fmt::format(
      "sum by (namespace,pod) (max by (namespace,pod,interface) "
      "(rate(container_network_{}_bytes_total{{pod!=\"\"}}[{}])))",
      direction, window);
}

std::string LinkSpeed(std::string_view signal, Link link, std::string_view window) {
  const std::string_view direction = DirectionOf(signal);
  if (direction.empty()) return {};
  const std::string traffic =
      fmt::format("rate(node_network_{}_bytes_total{}[{}])", direction, kRealLinks, window);
  return fmt::format(
      "{0} by ($node) ((node_network_speed_bytes > 0) and "
      "({1} >= on ($node) group_left () (0.1 * sum by ($node) ({1}))))",
      link == Link::kSlowest ? "min" : "max", traffic);
}

std::string_view GuardMetricOf(std::string_view name) {
  const BuiltIn* known = Find(name);
  return known == nullptr ? std::string_view() : known->guard;
}

}  // namespace berth::plugins
