// A simulated Prometheus: scrapes the exporters every 15 seconds and answers queries from the samples.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/load/world.hpp"
#include "scheduler/load_metrics/signal_table.hpp"

namespace berth::bench {

class Meter {
 public:
  static constexpr double kInterval = 15;  // seconds between two samples, and between two polls
  static constexpr double kWindow = 300;   // of all rates

  explicit Meter(const World& world) : world_(world), samples_(world.nodes().size()) {}

  // Takes a sample of all nodes and pods.
  void Scrape();

  // By node; nullopt before the second sample.
  std::optional<double> BusyShare(std::size_t node) const;
  std::optional<double> ReceivedPerSecond(std::size_t node) const;
  std::optional<double> SumOfReadings(std::size_t node) const;  // sum_over_time of the counter

  // Answers every signal that the plugins have declared. Throws for an unknown signal.
  void AnswerAll(load_metrics::SignalTable& measurements, MonoTime now) const;

 private:
  struct Sample {
    double time = 0, busy_seconds = 0, received = 0;
  };

  std::optional<double> ValueOf(const load_metrics::SignalSpec& spec, std::size_t node) const;
  void AnswerNodes(const load_metrics::SignalSpec& spec, load_metrics::SignalAnswer& answer) const;
  void AnswerPods(const load_metrics::SignalSpec& spec, load_metrics::SignalAnswer& answer) const;

  const World& world_;
  // The smallest value of a signal during the last samples, for "<signal>: lowest".
  static constexpr std::size_t kLowestSamples = 40;  // ten minutes
  double LowestOf(const load_metrics::SignalSpec& spec, std::size_t node, double now) const;

  std::vector<std::deque<Sample>> samples_;                                // of the window, by node
  mutable std::map<std::string, std::vector<std::deque<double>>> recent_;  // by signal and node
  std::map<std::string, std::deque<double>> use_;                          // cores, by pod
};

}  // namespace berth::bench
