// Nodes whose load changes at random, and a Prometheus that scrapes them: lost scrapes, dead exporters,
// restarts, outages, delayed answers.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "scheduler/load_metrics/signal_table.hpp"

namespace berth::bench {

class RandomMonitoring {
 public:
  // The signals must have been declared. `measurements` receives the answers.
  RandomMonitoring(load_metrics::SignalTable& measurements, const Clock& clock, std::mt19937_64& random);

  // The value that means 100 percent; default: 1.
  void SetFull(load_metrics::SignalId id, double full) { full_[Index(id)] = full; }
  // The usage of each running pod in cores, by name of the pod, for queries of the usage of pods.
  void SetPodUsage(std::function<std::vector<std::pair<std::string, double>>()> usage) {
    usage_ = std::move(usage);
  }
  // The StatefulSets of which there is a history.
  void SetWorkloads(std::vector<std::string> names) { workloads_ = std::move(names); }
  // A node that was scraped for a long time already, or is new.
  void AddNode(const std::string& name, bool is_new);
  void RemoveNode(const std::string& name);
  // The load of the node's pods, in percent of each signal; added to the random load.
  void SetPodLoad(const std::string& name, double percent) { nodes_.at(name).of_pods = percent; }

  // To be called every second: changes loads, scrapes, polls, delivers answers.
  void Advance();

  // The answers that were delivered for a signal.
  struct Delivered {
    std::map<std::string, double> percent;  // of the last answer, by node
    MonoTime polled_at{};
    bool answered = false;  // at least once
    bool failed = false;    // the last poll
  };
  const Delivered& delivered(load_metrics::SignalId id) const { return delivered_[Index(id)]; }
  // Whether the node was scraped completely, and every poll succeeded, for so long that no guard can reject
  // its values.
  bool IsUndisturbed(const std::string& name) const;

 private:
  struct Node {
    std::vector<double> load, aim;  // percent, by signal
    double of_pods = 0;
    std::vector<double> scraped;  // percent, by signal
    std::deque<MonoTime> scrapes;
    MonoTime next_scrape{};
    MonoTime dead_until{};
    MonoTime next_aim{};
    std::optional<MonoTime> disturbed_at;
  };
  struct Answer {
    MonoTime due{};
    load_metrics::SignalAnswer answer;
    bool failed = false;
    std::map<std::string, double> percent;
  };

  static std::size_t Index(load_metrics::SignalId id) { return static_cast<std::size_t>(id); }
  bool Chance(double share) { return std::uniform_real_distribution<double>()(random_) < share; }
  Duration Seconds(int least, int most) {
    return std::chrono::seconds(std::uniform_int_distribution<int>(least, most)(random_));
  }
  void ChangeLoad(Node& node);
  void Scrape(Node& node);
  void Restart();
  void Poll();
  Answer AnswerTo(load_metrics::SignalId id);
  std::vector<std::pair<load_metrics::SeriesName, double>> Others(load_metrics::Subject subject);
  void AnswerNodes(const load_metrics::SignalSpec& spec, Answer& out);
  std::optional<double> ValueOf(const load_metrics::SignalSpec& spec, std::size_t signal,
                                const Node& node) const;
  void Deliver();
  void DisturbAll();

  load_metrics::SignalTable& measurements_;
  const Clock& clock_;
  std::mt19937_64& random_;
  const bool faulty_;
  const Duration scrape_interval_;
  std::vector<double> full_;  // by signal
  std::function<std::vector<std::pair<std::string, double>>()> usage_;
  std::vector<std::string> workloads_;
  std::map<std::string, Node> nodes_;
  std::vector<Delivered> delivered_;            // by signal
  std::vector<std::optional<MonoTime>> asked_;  // time of the last poll, by signal
  std::vector<Answer> pending_;
  MonoTime next_poll_{};
  MonoTime down_until_{};
};

}  // namespace berth::bench
