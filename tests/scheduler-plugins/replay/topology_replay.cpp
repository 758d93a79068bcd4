// Compares Berth's NodeResourceTopologyMatch with recorded results of the real plugin.
//
//   topology_replay FILE    exit code 1 if any result differs; FILE may be compressed (.zst)
//
// Compared are the reason of each rejected node and the scores of each strategy before normalization, which
// neither plugin has. Berth raises negative scores, with which kube-scheduler fails, to 0.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kubernetes/api/decode.hpp"
#include "scenario.hpp"
#include "scheduler/plugins/node_resource_topology_match/node_resource_topology_match.hpp"
#include "testing/cluster.hpp"
#include "testing/replay_main.hpp"

namespace berth::replay {
namespace {

using plugins::NodeResourceTopologyMatch;
using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

constexpr int kShownMismatches = 10;
// Of each kind of result; fewer indicate a broken recording.
constexpr std::size_t kLeastResults = testing::Repetitions(20);
constexpr std::string_view kStrategies[] = {"LeastAllocated", "MostAllocated", "BalancedAllocation",
                                            "LeastNUMANodes"};

template <class T>
T Decoded(element value) {
  auto decoded = api::Decoder().Object<T>(simdjson::minify(value));
  if (!decoded) throw std::runtime_error(decoded.error().message);
  return *std::move(decoded);
}

std::string ArgsOf(element scenario, std::string_view strategy) {
  std::string weights;
  for (const element weight : array(element(scenario["weights"]))) {
    weights += fmt::format("{}{{name: {}, weight: {}}}", weights.empty() ? "" : ", ",
                           std::string_view(weight["Name"]), std::int64_t(weight["Weight"]));
  }
  return fmt::format("{{scoringStrategy: {{type: {}, resources: [{}]}}, discardReservedNodes: {}}}", strategy,
                     weights, bool(scenario["discard"]));
}

// The cluster of a scenario with one plugin by strategy.
class Subject {
 public:
  explicit Subject(element scenario) {
    // Some objects arrive before the plugin exists, some before their node.
    bool first = true;
    for (const element topology : array(element(scenario["topologies"]))) {
      if (!std::exchange(first, false)) continue;
      cluster_.Put(Decoded<api::NodeResourceTopology>(topology));
    }
    for (const std::string_view strategy : kStrategies)
      plugins_.push_back(cluster_.Make<NodeResourceTopologyMatch>(ArgsOf(scenario, strategy)));
    for (const element node : array(element(scenario["nodes"]))) cluster_.Add(Decoded<api::Node>(node));
    for (const element topology : array(element(scenario["topologies"])))
      cluster_.Put(Decoded<api::NodeResourceTopology>(topology));
    for (const element step : array(element(scenario["steps"]))) Run(step);
  }

  std::map<std::string, std::string> Reasons(const api::Pod& pod) {
    std::map<std::string, std::string> reasons;
    for (const auto& [node, verdict] : cluster_.Filter(*plugins_[0], pod)) {
      if (verdict.code == framework::Code::kSuccess) continue;
      if (verdict.code != framework::Code::kUnschedulable) reasons[node] = "not only unschedulable: ";
      reasons[node] += fmt::format("{}", fmt::join(verdict.reasons, ", "));
    }
    return reasons;
  }
  berth::testing::NodeScores Scores(std::size_t strategy, const api::Pod& pod) {
    return cluster_.RawScores(*plugins_[strategy], pod);
  }

 private:
  void Run(element step) {
    const std::string_view what = step["do"];
    const std::string node{std::string_view(step["node"])};
    const cluster::PodInfo pod = cluster_.Prepare(Decoded<api::Pod>(step["pod"]));
    framework::CycleState state;
    const framework::Placement placement{pod, node, state};
    for (const auto& plugin : plugins_) {
      if (what == "reserve" && !plugin->Reserve(placement).ok()) throw std::runtime_error("Reserve failed");
      if (what == "unreserve") plugin->Unreserve(placement);
      if (what == "postBind") plugin->PostBind(placement);
    }
  }

  berth::testing::Cluster cluster_;
  std::vector<std::unique_ptr<NodeResourceTopologyMatch>> plugins_;
};

class Comparison {
 public:
  void Compare(std::string_view line) {
    simdjson::dom::parser parser;
    const element scenario = parser.parse(simdjson::padded_string(line));
    const std::uint64_t seed = scenario["seed"];
    Subject subject(scenario);
    for (const element recorded : array(element(scenario["pods"]))) {
      const auto pod = Decoded<api::Pod>(recorded["pod"]);
      const std::string what = fmt::format("seed {}: pod {}", seed, pod.metadata.name);
      CompareReasons(what, recorded, subject.Reasons(pod), scenario);
      for (std::size_t i = 0; i < std::size(kStrategies); ++i) {
        element scores;
        if (recorded["scores"][kStrategies[i]].get(scores) == simdjson::SUCCESS)
          CompareScores(fmt::format("{}: {}", what, kStrategies[i]), i, scores, subject.Scores(i, pod));
      }
      ++pods_;
    }
  }

  int Report() const {
    bool complete = true;
    fmt::print("{} pods, {} mismatches\n", pods_, mismatches_);
    for (const auto& [what, count] : counts_) {
      fmt::print("  {}: {}\n", what, count);
      complete = complete && count >= kLeastResults;
    }
    if (!complete) fmt::print("fewer than {} results of a kind: the recording is too short\n", kLeastResults);
    return mismatches_ == 0 && complete && counts_.size() == kKinds ? 0 : 1;
  }

 private:
  // Five reasons, nodes without a reason, scores of four strategies above 0 and below 100.
  static constexpr std::size_t kKinds = 10;

  void CompareReasons(const std::string& what, element recorded, std::map<std::string, std::string> got,
                      element scenario) {
    for (const element node : array(element(scenario["nodes"]))) {
      const std::string name{std::string_view(node["metadata"]["name"])};
      element reason;
      const std::string wanted{recorded["reasons"][name].get(reason) == simdjson::SUCCESS
                                   ? std::string_view(reason)
                                   : std::string_view()};
      ++counts_[wanted.empty() ? "feasible" : wanted];
      if (got[name] != wanted) Mismatch(fmt::format("{}, node {}", what, name), wanted, got[name]);
    }
  }
  void CompareScores(const std::string& what, std::size_t strategy, element recorded,
                     const berth::testing::NodeScores& got) {
    for (const auto& [node, value] : object(recorded)) {
      const std::int64_t wanted = std::max<std::int64_t>(std::int64_t(value), 0);
      const std::int64_t score = got.at(std::string(node));
      if (wanted > 0 && wanted < 100) ++counts_[fmt::format("scores of {}", kStrategies[strategy])];
      if (score != wanted) Mismatch(fmt::format("{}, node {}", what, node), wanted, score);
    }
  }
  template <class T>
  void Mismatch(const std::string& what, const T& wanted, const T& got) {
    if (++mismatches_ <= kShownMismatches)
      fmt::print("{}: scheduler-plugins \"{}\", berth \"{}\"\n", what, wanted, got);
  }

  std::size_t pods_ = 0;
  int mismatches_ = 0;
  std::map<std::string, std::size_t> counts_;
};

}  // namespace
}  // namespace berth::replay

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "Usage: topology_replay FILE\n");
    return 2;
  }
  try {
    berth::replay::Comparison comparison;
    berth::testing::ForEachLine(argv[1], [&](std::string_view line) { comparison.Compare(line); });
    return comparison.Report();
  } catch (const std::exception& error) {
    fmt::print("topology_replay: {}\n", error.what());
    return 2;
  }
}
