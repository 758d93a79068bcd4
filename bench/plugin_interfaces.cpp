// Cost of a rule by plugin interface: linked in or loaded at run time, called once for all nodes or once per
// node, or as a scheduler extender. The rule is always the same (keep a tenth of each node's CPU free, prefer
// nodes with more free CPU). Except for the extender the decisions are identical, which is checked.
//
//   bench_plugin_interfaces [--nodes 1000,5000] [--pods 200] [--rounds 41]
//                           [--library build/bench/measured_rule.so] [--json]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "bench/measured_extender.hpp"
#include "bench/measured_rule.hpp"
#include "bench/no_writes.hpp"
#include "bench/stage.hpp"
#include "command_line/command.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/plugin_host/plugin_loader.hpp"
#include "scheduler/record/record_ring.hpp"

namespace berth::bench {
namespace {

struct PluginInterface {
  std::string plugin;  // empty: none
  bool extender = false;
  std::string name;
  std::string about;
};

const std::vector<PluginInterface>& PluginInterfaces() {
  static const std::vector<PluginInterface> interfaces = {
      {"", false, "none", "without the rule"},
      {std::string(LinkedAllNodes::kName), false, "linked-all-nodes", "linked in, one call for all nodes"},
      {std::string(LinkedOneNode::kName), false, "linked-one-node", "linked in, one call per node"},
      {"LoadedAllNodes", false, "loaded-all-nodes", "loaded, one call for all nodes"},
      {"LoadedOneNode", false, "loaded-one-node", "loaded, one call per node"},
      {"", true, "extender", "extender with node names, over loopback"},
  };
  return interfaces;
}

[[noreturn]] void Stop(const Error& error) {
  fmt::print(stderr, "Error: {}\n", error.message);
  std::exit(1);
}

struct Round {
  double p50_micros = 0;
  std::vector<cluster::Row> chosen;
};

// One round: every pod is scheduled and assumed before the next. Measures only the scheduling decision.
Round RunOnce(const PluginInterface& integration, const runtime::Registry& plugins, std::size_t nodes,
              std::size_t pods) {
  assembly::DryRunPorts ports;
  std::vector<std::string> notes;
  config::SchedulerConfig config = config::DefaultSchedulerConfig();
  if (!integration.plugin.empty())
    config.profiles.front().at(config::Point::kMultiPoint).enabled.push_back({integration.plugin, 1});
  std::optional<MeasuredExtender> extender;
  if (integration.extender) config.extenders.push_back(extender.emplace().config());
  auto engine = assembly::Engine::Build(config, plugins, ports.ports(), notes, {},
                                        extender ? extender->access() : assembly::ExtenderAccess{});
  if (!engine) Stop(engine.error());
  cluster::ClusterState& cache = (*engine)->cache();
  const Stage stage(cache, *FindWorkload("distinct"), {.nodes = nodes, .pods = pods});
  if (extender) extender->ReadNodes(cache.nodes());
  const auto names = algorithm::NamesOf(cache.nodes());
  // Ties are broken by name, so that the decisions of all interfaces can be compared.
  algorithm::SchedulingAlgorithm algorithm({.tie_break = algorithm::TieBreak::kFirstByName, .seed = 1},
                                           (*engine)->reasons(), (*engine)->extenders());
  record::RecordRing records(64u << 20);
  Round round;
  std::vector<double> micros;
  for (const Step& step : stage.steps()) {
    const api::PodPtr object = integration.extender ? WithText(step.pod) : step.pod;
    const cluster::PodInfo pod = cluster::PreparePod(object, (*engine)->symbols());
    const auto begun = std::chrono::steady_clock::now();
    algorithm::ScheduleResult decision = algorithm.Schedule(
        pod, *(*engine)->profiles().front(), {cache.nodes(), cache.VisitingOrder(), names}, {});
    const auto done = std::chrono::steady_clock::now();
    micros.push_back(std::chrono::duration<double, std::micro>(done - begun).count());
    round.chosen.push_back(decision.row);
    if (decision.row != cluster::kNoRow) cache.Assume(pod, decision.row);
    records.Add(std::move(decision.record), {});
  }
  std::ranges::nth_element(micros, micros.begin() + static_cast<std::ptrdiff_t>(pods / 2));
  round.p50_micros = micros[pods / 2];
  return round;
}

double MedianOf(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Alternates rounds of all interfaces. The result is the median of the differences to the run without the
// rule in the same round.
void Measure(const runtime::Registry& plugins, std::size_t nodes, std::size_t pods, std::size_t rounds,
             bool json) {
  const std::vector<PluginInterface>& interfaces = PluginInterfaces();
  std::vector<std::vector<double>> p50(interfaces.size()), more(interfaces.size());
  for (const PluginInterface& integration : interfaces)
    RunOnce(integration, plugins, nodes, pods / 10 + 1);  // warm-up
  for (std::size_t round = 0; round < rounds; ++round) {
    double without = 0;
    std::vector<cluster::Row> chosen;
    for (std::size_t i = 0; i < interfaces.size(); ++i) {
      // An extender is so much slower that a few decisions are enough.
      const Round one = RunOnce(interfaces[i], plugins, nodes, interfaces[i].extender ? pods / 10 + 1 : pods);
      if (i == 0) without = one.p50_micros;
      if (i == 1) chosen = one.chosen;
      // An extender's scores are multiples of ten, so it may choose another node.
      if (i > 1 && !interfaces[i].extender && one.chosen != chosen)
        Stop({ErrorCode::kInternal, fmt::format("{}: decisions differ", interfaces[i].about)});
      p50[i].push_back(one.p50_micros);
      more[i].push_back(one.p50_micros - without);
    }
  }
  for (std::size_t i = 0; i < interfaces.size(); ++i) {
    const double overhead = MedianOf(more[i]);
    if (json) {
      fmt::print(
          "{{\"name\":\"plugin_interfaces/{}/{}\",\"value\":{:.2f},\"unit\":\"us\",\"p50Micros\":{:.2f}}}\n",
          nodes, interfaces[i].name, overhead, MedianOf(p50[i]));
      continue;
    }
    fmt::print("{:>6}  {:<32} {:>11.1f} {:>11.1f} {:>9.2f}\n", nodes, interfaces[i].about, MedianOf(p50[i]),
               overhead, overhead * 1000 / static_cast<double>(nodes));
  }
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  using namespace berth;
  std::vector<std::size_t> nodes{1000, 5000};
  std::size_t pods = 200;
  std::size_t rounds = 41;
  std::string library = BERTH_MEASURED_RULE;
  bool json = false;
  command_line::Command command("bench_plugin_interfaces",
                                "Cost of a small filter-and-score rule per decision, by plugin interface.");
  command_line::FlagSet& flags = command.flags();
  flags.Integers("nodes", nodes, "cluster sizes in nodes");
  flags.Integer("pods", pods, "decisions per round", {.least = 1});
  flags.Integer("rounds", rounds, "number of rounds for the medians", {.least = 1});
  flags.Path("library", library, "the rule as a shared object");
  flags.Bool("json", json, "print one JSON object per line; its value is the overhead");
  if (const auto code = command.Parse(argc, argv)) return *code;

  runtime::Registry plugins = assembly::InTreePlugins();
  plugins.AddForeign(std::string(bench::LinkedAllNodes::kName), framework::Make<bench::LinkedAllNodes>);
  plugins.AddForeign(std::string(bench::LinkedOneNode::kName), framework::Make<bench::LinkedOneNode>);
  const auto loaded = plugin_host::Load(library);
  if (!loaded) {
    fmt::print(stderr, "Error: {}\n", loaded.error().message);
    return 1;
  }
  for (const auto& plugin : loaded->plugins) plugins.AddForeign(plugin.name, plugin.factory);
  if (!json)
    fmt::print("{:>6}  {:<32} {:>11} {:>11} {:>9}\n", "nodes", "interface", "p50 us", "overhead us",
               "ns/node");
  for (const std::size_t count : nodes) bench::Measure(plugins, count, pods, rounds, json);
}
