// Arguments common to TargetLoadPacking, LoadVariationRiskBalancing and LowRiskOverCommitment, as in
// scheduler-plugins v0.33.5 (TrimaranSpec), and the signals that they describe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/framework/factory.hpp"
#include "scheduler/load_metrics/signal_table.hpp"

namespace berth::plugins {

struct TrimaranArgs {
  // The address of load-watcher. If it is set, `provider` is not used.
  std::string watcher_address;
  struct MetricProvider {
    std::string type;     // only Prometheus is supported
    std::string address;  // or the name of a metric source; empty: http://prometheus-k8s:9090
    std::string token;
    bool insecure_skip_verify = true;  // as in load-watcher, without effect if there is no token
  } provider;
  // Berth's own: validity of measurements if newer ones are unavailable.
  Duration hold_for = std::chrono::minutes(5);
  // Berth's own, "unmeasuredNodes": nodes without a measurement count as the median, not with the score 0.
  bool median_if_unmeasured = true;
};

void ReadTrimaranArgs(config::StructReader& reader, TrimaranArgs& args, config::Problems& problems);
void CheckTrimaranArgs(const TrimaranArgs& args, const std::string& path, std::vector<std::string>& errors);
void WriteTrimaranArgs(const TrimaranArgs& args, config::Value& out);

// A number that keeps the precision of float64.
config::Value Float64(double value);

enum class NodeLoad : std::uint8_t { kCpu, kMemory };
enum class LoadStatistic : std::uint8_t {
  kUtilization,  // what TargetLoadPacking reads: the average or, of load-watcher, the latest value
  kAverage,
  kDeviation,  // standard deviation
};

// Of the last 15 minutes, in percent of the node's capacity.
load_metrics::SignalSpec LoadSignalOf(const TrimaranArgs& args, NodeLoad load, LoadStatistic statistic);
// Has a value for every node for which load-watcher has metrics of any type. Only with watcher_address.
load_metrics::SignalSpec PresenceSignalOf(const TrimaranArgs& args);

}  // namespace berth::plugins
