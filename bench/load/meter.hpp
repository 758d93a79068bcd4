// A simulated Prometheus: scrapes the exporters every 15 seconds and answers queries from the samples.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load/world.hpp"
#include "scheduler/load_metrics/signal_table.hpp"

namespace berth::bench {

struct MeterFaults {
  double lost = 0;   // share of the scrapes of a node that fail
  double delay = 0;  // seconds until a sample of a node can be queried
  std::uint64_t seed = 1;
};

class Meter {
 public:
  static constexpr double kInterval = 15;     // seconds between two samples, and between two polls
  static constexpr double kWindow = 300;      // of most rates
  static constexpr double kLongWindow = 900;  // of the signals of the Trimaran plugins
  // Of the forecast: the same time in the last period of World's data volumes.
  static constexpr double kPeriod = World::kPeriodSeconds;
  static constexpr double kHorizon = 1800;
  static constexpr double kPercentile = 75;

  explicit Meter(const World& world, const MeterFaults& faults = {})
      : world_(world), faults_(faults), random_(faults.seed), samples_(world.nodes().size()) {}

  // Takes a sample of all nodes and pods.
  void Scrape();

  // By node; nullopt before the second sample. `ago`: seconds between the end of the window and now.
  std::optional<double> BusyShare(std::size_t node, double window = kWindow, double ago = 0) const;
  std::optional<double> ReceivedPerSecond(std::size_t node) const;
  std::optional<double> SumOfReadings(std::size_t node) const;  // sum_over_time of the counter

  // Answers every signal that the plugins have declared. Throws for an unknown signal.
  void AnswerAll(load_metrics::SignalTable& measurements, MonoTime now) const;

 private:
  struct Sample {
    double time = 0, busy_seconds = 0, received = 0, memory = 0, disk_seconds = 0;
  };

  // The samples of a window that ended `ago` seconds ago.
  std::span<const Sample> Within(const std::vector<Sample>& samples, double window, double ago = 0) const;
  double DiskShare(std::size_t node) const;
  // Of the last sample that can be queried, in seconds.
  std::optional<double> AgeOfSamples(std::size_t node) const;
  std::optional<double> ValueOf(const load_metrics::SignalSpec& spec, std::size_t node) const;
  // A signal of the Trimaran plugins, in percent.
  std::optional<double> TrimaranValueOf(std::string_view signal, std::size_t node) const;
  void AnswerNodes(const load_metrics::SignalSpec& spec, load_metrics::SignalAnswer& answer) const;
  void AnswerPods(const load_metrics::SignalSpec& spec, load_metrics::SignalAnswer& answer) const;
  void AnswerWorkloads(const load_metrics::SignalSpec& spec, load_metrics::SignalAnswer& answer) const;
  // The mean usage of the pod in cores, or its memory in bytes; nullopt: it was not sampled yet.
  std::optional<double> UseOf(const std::string& pod, bool memory) const;
  // By node: cores or bytes.
  std::vector<double> ContainerUse(bool memory) const;
  void RecordHistory();

  const World& world_;
  const MeterFaults faults_;
  std::mt19937_64 random_;
  // The smallest value of a signal during the last samples, for "<signal>: lowest".
  static constexpr std::size_t kLowestSamples = 40;  // ten minutes
  double LowestOf(const load_metrics::SignalSpec& spec, std::size_t node, double now) const;

  std::vector<std::vector<Sample>> samples_;                               // of all windows, by node
  mutable std::map<std::string, std::vector<std::deque<double>>> recent_;  // by signal and node
  std::map<std::string, std::deque<double>> use_;                          // cores, by pod
  // The usage of the pods of an application at one time.
  struct Record {
    double time = 0;
    std::vector<double> cores;
    double memory = 0;  // bytes of each pod
  };
  std::map<std::string, std::deque<Record>> history_;  // of two periods, by application
  double recorded_ = 0;                                // time of the last records
};

}  // namespace berth::bench
