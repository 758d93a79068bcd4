// Arguments of LoadAware.
//
//   prometheusAddress: http://prometheus-server.monitoring:9090
//   preset: balanced
//
// is enough. Signals can be added, and those of the preset changed by their name:
//
//   signals:
//   - {name: cpu, weight: 2, threshold: 85, percentile: 95, over: 15m}
//   - {name: memory, weight: 0}
//   - name: gpu-temperature
//     query: max by ($node) (DCGM_FI_DEV_GPU_TEMP)
//     full: 90
//     threshold: 95
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/framework/factory.hpp"

namespace berth::plugins {

// What a pod will add to a signal before it is measured.
struct LoadEstimate {
  enum class From {
    kRequest,  // of `resource`, as a share of what the node offers of it
    kLimit,    // the same; the request where there is no limit
    kHistory,  // what pods of the same workload use of cpu or memory; the request while nothing is known
    kMean,     // what a pod of this cluster adds on average
    kNone,
  };
  From from = From::kMean;
  std::string resource;  // kRequest, kLimit, kHistory
  double factor = 1;
};

struct LoadSignalArgs {
  std::string name;
  std::string query;        // PromQL; "$node" and "$window" are replaced. Built-in signals have theirs
  double full = 1;          // the value that means 100 percent
  std::int64_t weight = 1;  // 0: no part in the score
  std::optional<double> threshold;  // percent: a node beyond it is not taken
  std::optional<double> target;  // percent: the best a node can be, for packing; else the emptier the better
  bool prefer_high = false;      // the fuller the better, whatever the target
  Duration window = std::chrono::minutes(5);
  std::optional<double> percentile;  // of the values of the last `over`, instead of the last value
  Duration over = std::chrono::minutes(15);
  LoadEstimate estimate;
};

struct LoadAwareArgs {
  std::string prometheus_address = "http://prometheus-server.monitoring:9090";  // or a metric source's name
  std::string preset = "balanced";
  Duration hold_for = std::chrono::minutes(5);  // how long measurements count when no newer ones come
  bool reject_without_measurements = false;     // onOutage: reject; else neutral
  double hysteresis = 5;                // percent: so far below its threshold a hot node is taken again
  std::vector<LoadSignalArgs> signals;  // the preset's, then those that were added
};

Expected<LoadAwareArgs> ParseLoadAwareArgs(const framework::RawArgs& raw);
config::ArgsCodec LoadAwareArgsCodec();

}  // namespace berth::plugins
