// Parses the response of load-watcher (v0.2) to GET /watcher, which scheduler-plugins' Trimaran plugins read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace berth::load_metrics {

// The metrics of one resource of a node, in percent of the node's capacity.
struct WatcherResource {
  bool known = false;  // the node has a metric of this resource
  // The last metric with the operator AVG; without one the last with Latest or without operator; else 0.
  double average = 0;
  double deviation = 0;                 // the last metric with the operator STD; 0 without one
  std::optional<double> utilization{};  // the last metric with the operator AVG or Latest
};

struct WatcherNode {
  std::string name;
  bool any = false;  // has metrics of any type
  WatcherResource cpu;
  WatcherResource memory;
};

struct WatcherAnswer {
  std::int64_t window_end = 0;  // Unix seconds; 0: not given
  std::vector<WatcherNode> nodes;
};

// Numbers that are not finite, unknown types and operators are ignored. Errors: kUnavailable if the server
// failed or `body` is not such a response. `status` is the HTTP status.
Expected<WatcherAnswer> ReadWatcherAnswer(int status, std::string_view body);

// The quantities that a signal can have as its expression.
inline constexpr std::string_view kWatcherCpuUtilization = "CPU AVG or Latest";
inline constexpr std::string_view kWatcherCpuAverage = "CPU AVG";
inline constexpr std::string_view kWatcherCpuDeviation = "CPU STD";
inline constexpr std::string_view kWatcherMemoryAverage = "Memory AVG";
inline constexpr std::string_view kWatcherMemoryDeviation = "Memory STD";
inline constexpr std::string_view kWatcherAny = "any metric";  // 1 for every node with metrics

// nullopt: the node has no such metric. An unknown quantity is a programming error.
std::optional<double> QuantityOf(const WatcherNode& node, std::string_view quantity);

}  // namespace berth::load_metrics
