// The measured load of nodes and pods that a rebalancing plan starts from.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/text_map.hpp"
#include "config/scheduler_config.hpp"
#include "scheduler/load_metrics/signal_table.hpp"

namespace berth::framework {
struct Handle;
}

namespace berth::rebalance {

// Of one node, in percent of its capacity. NaN: no value.
struct NodeLoad {
  double now = load_metrics::kNoValue;
  double lowest = load_metrics::kNoValue;  // during the window
  // Bytes per second, of signals of traffic.
  double slowest_link = load_metrics::kNoValue, fastest_link = load_metrics::kNoValue;
};

// A signal with a threshold.
struct SignalLoad {
  std::string name;
  double threshold = 0;  // percent; a node above it for the whole window is overloaded
  // cpu, memory, or the name of a signal of traffic: usage is measured per pod. Empty: it is not.
  std::string resource;
  bool traffic = false;     // usage is in bytes per second, and the load is a share of the speed of a link
  std::string not_per_pod;  // why the usage of pods is not measured; empty: unknown
  Duration smoothing{};     // time range of the query: a pod that started since is measured in part
  double scale = 100;       // factor from the values of the signal to percent
  load_metrics::SignalId id{};
  std::string unavailable;  // why the values cannot be used; empty: they can
  std::map<std::string, NodeLoad, std::less<>> nodes;
};

// Usage of pods by "namespace/name": cores, bytes, or bytes per second.
using Usage = FlatTextMap<double>;

struct MeasuredLoad {
  std::vector<SignalLoad> signals;
  std::map<std::string, Usage, std::less<>> usage;                    // by resource
  std::map<std::string, std::string, std::less<>> usage_unavailable;  // resource and reason
};

struct LoadReaderOptions {
  Duration window = std::chrono::minutes(10);
  std::map<std::string, double> thresholds;  // percent, by signal; replace those of LoadAware
};

// Reads the signals of LoadAware that have a threshold, their lowest values during the window, the usage of
// pods, and the speed of links. Declares the last three in the engine's signal table. Without the traffic of
// pods, a signal of traffic is not measured per pod. Scheduler loop only.
class LoadReader {
 public:
  // To be called after the plugins are built and before the signals are polled. Errors: no profile enables
  // LoadAware, an option names a signal that is not watched, no signal has a threshold. `handle` must outlive
  // the result.
  static Expected<std::unique_ptr<LoadReader>> Create(const config::SchedulerConfig& config,
                                                      framework::Handle& handle, LoadReaderOptions options);
  LoadReader(const LoadReader&) = delete;
  LoadReader& operator=(const LoadReader&) = delete;

  MeasuredLoad Read() const;

 private:
  struct Watched {
    SignalLoad signal;  // without values
    load_metrics::SignalId lowest{};
    load_metrics::SignalId slowest_link{}, fastest_link{};  // of signals of traffic
  };
  struct UsageSignal {
    load_metrics::SignalId id{};
    std::vector<std::string> series;  // by series number: "namespace/name"
    Usage usage;
  };
  using UsageSignals = std::map<std::string, UsageSignal, std::less<>>;  // addresses are stable
  explicit LoadReader(framework::Handle& handle) : handle_(handle) {}
  void WatchUsage(UsageSignals& of, const std::string& name, const load_metrics::SignalSpec& spec);
  static void Take(UsageSignal& signal, const load_metrics::SignalAnswer& answer);
  std::string Unavailable(load_metrics::SignalId id) const;
  // Why the usage of pods by a signal of traffic cannot be used; empty: it can.
  std::string TrafficUnavailable(const Watched& watched) const;

  framework::Handle& handle_;
  std::vector<Watched> watched_;
  UsageSignals usage_;    // by resource
  UsageSignals traffic_;  // by signal of traffic
};

// The specification of a signal's lowest value during the window. The result has no value for nodes that were
// measured for less than about 80 percent of the window.
load_metrics::SignalSpec LowestOf(const load_metrics::SignalSpec& signal, Duration window);

}  // namespace berth::rebalance
