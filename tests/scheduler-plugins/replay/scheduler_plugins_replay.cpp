// Compares the scores of Berth's Trimaran plugins with recorded scores of the real ones.
//
//   scheduler_plugins_replay FILE    exit code 1 if any score differs; FILE may be compressed (.zst)
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>

#include "scenario.hpp"
#include "scheduler/load_metrics/watcher_answer.hpp"
#include "scheduler/plugins/load_variation_risk_balancing/load_variation_risk_balancing.hpp"
#include "scheduler/plugins/low_risk_over_commitment/low_risk_over_commitment.hpp"
#include "scheduler/plugins/target_load_packing/target_load_packing.hpp"
#include "testing/cluster.hpp"
#include "testing/replay_main.hpp"

namespace berth::replay {
namespace {

using load_metrics::SignalId;

constexpr int kShownMismatches = 10;
constexpr std::size_t kLeastScores =
    testing::Repetitions(100);  // per plugin; fewer indicate a broken recording

struct Counts {
  std::size_t scores = 0;
  std::size_t above_zero = 0;
  std::size_t mismatches = 0;
};

std::unique_ptr<framework::Plugin> MakePlugin(const Scenario& scenario, framework::Handle& handle) {
  yaml::Value args = scenario.args;
  args.Set("watcherAddress", yaml::Value::Text("http://load-watcher:2020"));
  args.Set("unmeasuredNodes", yaml::Value::Text("zero"));
  const framework::RawArgs raw{&args, "args"};
  auto plugin = scenario.plugin == "TargetLoadPacking" ? plugins::TargetLoadPacking::Create(raw, handle)
                : scenario.plugin == "LoadVariationRiskBalancing"
                    ? plugins::LoadVariationRiskBalancing::Create(raw, handle)
                    : plugins::LowRiskOverCommitment::Create(raw, handle);
  if (!plugin) throw std::runtime_error(plugin.error().message);
  return std::move(*plugin);
}

// Delivers the response of load-watcher as the poller does.
void Measure(const Scenario& scenario, MonoTime placed, load_metrics::SignalTable& signals) {
  const auto document = load_metrics::ReadWatcherAnswer(200, scenario.watcher);
  if (!document) throw std::runtime_error(document.error().message);
  for (std::size_t i = 0; i < signals.size(); ++i) {
    const auto id = static_cast<SignalId>(i);
    load_metrics::SignalAnswer answer{
        .signal = id,
        .polled_at = placed + std::chrono::seconds(document->window_end - scenario.placed),
        .renumbered = true,
        .fresh = nullptr,
        .samples = {}};
    std::vector<load_metrics::SeriesName> names;
    for (const load_metrics::WatcherNode& node : document->nodes) {
      const auto value = QuantityOf(node, signals.signal(id).spec.expression);
      if (!value) continue;
      answer.samples.emplace_back(names.size(), *value);
      names.push_back({{"node", node.name}});
    }
    answer.fresh = std::make_shared<const std::vector<load_metrics::SeriesName>>(std::move(names));
    signals.Take(answer);
  }
}

void Compare(const Scenario& scenario, Counts& counts) {
  ManualClock clock;
  berth::testing::Cluster cluster;
  cluster.handle().signals.SetClock(clock);
  const auto plugin = MakePlugin(scenario, cluster.handle());
  for (const NodeWithPods& node : scenario.nodes) {
    cluster.Add(node.node);
    for (const api::Pod& pod : node.pods) cluster.Run(node.node.metadata.name, pod);
  }
  Measure(scenario, clock.Now(), cluster.handle().signals);
  for (std::size_t p = 0; p < scenario.pods.size(); ++p) {
    const auto got = cluster.Scores(dynamic_cast<framework::ScorePlugin&>(*plugin), scenario.pods[p]);
    for (std::size_t n = 0; n < scenario.nodes.size(); ++n) {
      const std::string& node = scenario.nodes[n].node.metadata.name;
      const std::int64_t wanted = scenario.scores.at(p).at(n);
      ++counts.scores;
      counts.above_zero += wanted > 0 ? 1 : 0;
      if (got.at(node) == wanted) continue;
      if (++counts.mismatches <= kShownMismatches) {
        fmt::print("seed {}: {}: pod {}, node {}: scheduler-plugins {}, berth {}\n", scenario.seed,
                   scenario.plugin, p, node, wanted, got.at(node));
      }
    }
  }
}

int Run(const std::string& path) {
  std::map<std::string, Counts> counts;
  testing::ForEachLine(path, [&](std::string_view line) {
    const Scenario scenario = ParseScenario(line);
    Compare(scenario, counts[scenario.plugin]);
  });
  bool fine = counts.size() == 3;
  for (const auto& [plugin, count] : counts) {
    fmt::print("{}: {} scores, {} of them above 0, {} mismatches\n", plugin, count.scores, count.above_zero,
               count.mismatches);
    fine &= count.mismatches == 0 && count.above_zero >= kLeastScores;
  }
  return fine ? 0 : 1;
}

}  // namespace
}  // namespace berth::replay

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "Usage: scheduler_plugins_replay FILE\n");
    return 2;
  }
  try {
    return berth::replay::Run(argv[1]);
  } catch (const std::exception& error) {
    fmt::print("scheduler_plugins_replay: {}\n", error.what());
    return 2;
  }
}
