#include "scheduler/load_metrics/watcher_answer.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include "base/check.hpp"

namespace berth::load_metrics {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

std::string_view TextOf(const element& metric, std::string_view name) {
  std::string_view text;
  return metric[name].get(text) == simdjson::SUCCESS ? text : std::string_view();
}

void AddMetric(std::string_view op, double value, bool& averaged, WatcherResource& resource) {
  resource.known = true;
  if (op == "AVG") {
    resource.average = value;
    resource.utilization = value;
    averaged = true;
  } else if (op == "STD") {
    resource.deviation = value;
  } else if (op == "Latest" || op.empty()) {
    if (!averaged) resource.average = value;
    if (!op.empty()) resource.utilization = value;
  }
}

WatcherNode ReadNode(std::string_view name, const element& value) {
  WatcherNode node{.name = std::string(name), .cpu = {}, .memory = {}};
  array metrics;
  if (value["metrics"].get(metrics) != simdjson::SUCCESS) return node;
  bool cpu_averaged = false;
  bool memory_averaged = false;
  for (const element& metric : metrics) {
    node.any = true;
    const std::string_view type = TextOf(metric, "type");
    double number = 0;  // as in Go, a metric without a value is 0
    if (const auto given = metric["value"]; given.error() == simdjson::SUCCESS && !given.is_null()) {
      if (given.get(number) != simdjson::SUCCESS) continue;
    }
    if (type == "CPU") AddMetric(TextOf(metric, "operator"), number, cpu_averaged, node.cpu);
    if (type == "Memory") AddMetric(TextOf(metric, "operator"), number, memory_averaged, node.memory);
  }
  return node;
}

}  // namespace

Expected<WatcherAnswer> ReadWatcherAnswer(int status, std::string_view body) {
  const auto failed = [&](std::string_view why) {
    return Fail(ErrorCode::kUnavailable, fmt::format("HTTP status {}: {}", status, why));
  };
  if (status != 200) return failed("load-watcher has no metrics");
  thread_local simdjson::dom::parser parser;
  const simdjson::padded_string padded(body);
  element document;
  object nodes;
  if (parser.parse(padded).get(document) != simdjson::SUCCESS ||
      document["data"]["NodeMetricsMap"].get(nodes) != simdjson::SUCCESS)
    return failed("not a response of load-watcher: no data.NodeMetricsMap");
  WatcherAnswer answer;
  if (document["window"]["end"].get(answer.window_end) != simdjson::SUCCESS) answer.window_end = 0;
  answer.nodes.reserve(nodes.size());
  for (const auto& [name, value] : nodes) answer.nodes.push_back(ReadNode(name, value));
  return answer;
}

std::optional<double> QuantityOf(const WatcherNode& node, std::string_view quantity) {
  const auto of = [](const WatcherResource& resource, double value) {
    return resource.known ? std::optional(value) : std::nullopt;
  };
  if (quantity == kWatcherCpuUtilization) return node.cpu.utilization;
  if (quantity == kWatcherCpuAverage) return of(node.cpu, node.cpu.average);
  if (quantity == kWatcherCpuDeviation) return of(node.cpu, node.cpu.deviation);
  if (quantity == kWatcherMemoryAverage) return of(node.memory, node.memory.average);
  if (quantity == kWatcherMemoryDeviation) return of(node.memory, node.memory.deviation);
  BERTH_CHECK(quantity == kWatcherAny, quantity);
  return node.any ? std::optional(1.0) : std::nullopt;
}

}  // namespace berth::load_metrics
