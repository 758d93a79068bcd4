// Arguments of LoadAware.
//
//   prometheusAddress: http://prometheus-server.monitoring:9090
//   preset: balanced
//
// is sufficient. Signals can be added, and those of the preset can be changed by name:
//
//   signals:
//   - {name: cpu, weight: 2, threshold: 85, percentile: 95, over: 15m}
//   - {name: memory, weight: 0}
//   - name: gpu-temperature
//     query: max by ($node) (DCGM_FI_DEV_GPU_TEMP)
//     full: 90
//     threshold: 95
//
// The forecast is off unless it is configured:
//
//   forecast: {percentile: 90, workloadLabels: [app]}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/framework/factory.hpp"

namespace berth::plugins {

// The estimated load of a new pod until it is measured.
struct LoadEstimate {
  enum class From {
    kRequest,  // its request of `resource`, as a fraction of the node's allocatable amount
    kLimit,    // its limit, likewise; the request if there is no limit
    kHistory,  // measured CPU or memory usage of pods of the same workload; the request while unknown
    kMean,     // the load per pod in this cluster, learned (LoadPerPod)
    kNone,
  };
  From from = From::kMean;
  std::string resource;  // kRequest, kLimit, kHistory
  double factor = 1;
};

struct LoadSignalArgs {
  std::string name;
  std::string query;        // PromQL; "$node" and "$window" are replaced. Built-in signals have a default
  double full = 1;          // the value that equals 100 percent
  std::int64_t weight = 1;  // 0: does not contribute to the score
  std::optional<double> threshold;  // percent; nodes above it are rejected
  // percent; the utilization with the best score, for packing; default: the lower the better
  std::optional<double> target;
  bool prefer_high = false;  // the higher the better; ignores the target
  Duration window = std::chrono::minutes(5);
  std::optional<double> percentile;  // of the values of the last `over`, instead of the last value
  Duration over = std::chrono::minutes(15);
  LoadEstimate estimate;
};

// The load of a node that is to be expected during the first hour of a pod, from the history of the workloads
// of its pods. A part of the score for CPU and one for memory, beside the signals.
struct LoadForecastArgs {
  std::int64_t cpu_weight = 1, memory_weight = 1;  // among the signals; 0: not a part of the score
  double percentile = 75;                          // of the usage of a workload's pods
  Duration horizon = std::chrono::hours(1);        // the time after the placement that counts
  Duration period = std::chrono::hours(24);        // after which loads repeat: a day, or a week
  std::int64_t periods = 3;                        // number of past periods that are read
  // Pod labels that identify a workload within its namespace; empty: the controller does.
  std::vector<std::string> workload_labels = {};
  Duration poll_interval = std::chrono::minutes(10);
};

struct LoadAwareArgs {
  // or the name of a metric source
  std::string prometheus_address = "http://prometheus-server.monitoring:9090";
  std::string preset = "balanced";
  Duration hold_for = std::chrono::minutes(5);  // validity of measurements if newer ones are unavailable
  bool reject_without_measurements = false;     // onOutage: reject; otherwise neutral
  double hysteresis = 5;     // percent below the threshold at which a hot node is accepted again
  double max_estimate = 20;  // percent of a node; what estimates contribute to the rejection of a node
  std::vector<LoadSignalArgs> signals;  // those of the preset, then additional ones
  std::optional<LoadForecastArgs> forecast;
};

Expected<LoadAwareArgs> ParseLoadAwareArgs(const framework::RawArgs& raw);
config::ArgsCodec LoadAwareArgsCodec();

}  // namespace berth::plugins
