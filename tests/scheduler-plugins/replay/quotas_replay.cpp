// Compares Berth's CapacityScheduling, or PreemptionToleration, with recorded decisions of the real plugin.
//
//   quotas_replay FILE    exit code 1 if any decision differs; FILE may be compressed (.zst)
//
// Compared are the rejection by PreFilter, the feasible nodes, the complete message of a pod that fits on no
// node, the nominated node and the victims. Of equally good nodes, kube-scheduler selects any. Messages of
// PreemptionToleration differ on purpose, and Berth's count the nodes without victims instead of naming them.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "config/scheduler_config.hpp"
#include "scenario.hpp"
#include "scheduler/assembly/explainer.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "scheduler/record/attempt_record.hpp"
#include "testing/replay_main.hpp"

namespace berth::replay {
namespace {

using record::AttemptRecord;
using simdjson::dom::array;
using simdjson::dom::element;

constexpr int kShownMismatches = 10;
// Of each kind of result; fewer indicate a broken recording.
constexpr std::size_t kLeastResults = testing::Repetitions(20);

constexpr const char* kConfig = R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      disabled: [{name: "*"}]
      enabled: [{name: PrioritySort}, {name: NodeResourcesFit}, {name: CapacityScheduling}, {name: DefaultBinder}]
)";

constexpr const char* kTolerations = R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      disabled: [{name: "*"}]
      enabled: [{name: PrioritySort}, {name: NodeResourcesFit}, {name: PreemptionToleration}, {name: DefaultBinder}]
)";

// Whether the attempt is one of PreemptionToleration.
bool HasClasses(element scenario) { return scenario["classes"].error() == simdjson::SUCCESS; }

template <class T>
T Checked(Expected<T> value) {
  if (!value) throw std::runtime_error(value.error().message);
  return std::move(*value);
}

// The decision about the pod, as text.
struct Decision {
  std::string rejection, feasible, message, node, victims;
};

std::string Joined(std::vector<std::string> names) {
  std::ranges::sort(names);
  return fmt::format("{}", fmt::join(names, " "));
}

std::string Joined(element names) {
  std::vector<std::string> list;
  for (const std::string_view name : array(names)) list.emplace_back(name);
  return Joined(std::move(list));
}

// The message with the parts of a list of errors at its end, "[a, b]", in alphabetical order: the real plugin
// evaluates nodes in parallel, so that their errors have no order.
std::string WithSortedErrors(std::string message) {
  constexpr std::string_view kSeparator = ", ";
  const std::size_t begin = message.rfind('[');
  if (begin == std::string::npos || !message.ends_with(']')) return message;
  std::string_view list(message);
  list = list.substr(begin + 1, list.size() - begin - 2);
  std::vector<std::string> errors;
  while (true) {
    const std::size_t end = list.find(kSeparator);
    errors.emplace_back(list.substr(0, end));
    if (end == std::string_view::npos) break;
    list.remove_prefix(end + kSeparator.size());
  }
  std::ranges::sort(errors);
  return fmt::format("{}[{}]", message.substr(0, begin), fmt::join(errors, kSeparator));
}

// The message with one part for all nodes without victims, "3 No victims found for preemptor pod p", instead
// of one part per node, which has the node's name.
std::string WithCountedNodes(const std::string& message) {
  constexpr std::string_view kNodes = " nodes are available: ", kSeparator = ", ",
                             kOf = " for preemptor pod ";
  constexpr std::string_view kNoVictims = "1 No victims found on node ";
  const std::size_t head = message.rfind(kNodes);
  if (head == std::string::npos || message.find(kNoVictims, head) == std::string::npos) return message;
  const std::size_t begin = head + kNodes.size(), end = message.rfind('.');
  std::vector<std::string> parts;
  std::map<std::string, std::size_t> without_victims;  // by the text after the node's name
  std::string_view list = std::string_view(message).substr(begin, end - begin);
  for (bool last = false; !last;) {
    const std::size_t part_end = list.find(kSeparator);
    const std::string_view part = list.substr(0, part_end);
    if (part.starts_with(kNoVictims)) {
      ++without_victims[std::string(part.substr(part.find(kOf)))];
    } else {
      parts.emplace_back(part);
    }
    last = part_end == std::string_view::npos;
    if (!last) list.remove_prefix(part_end + kSeparator.size());
  }
  for (const auto& [of, nodes] : without_victims)
    parts.push_back(fmt::format("{} No victims found{}", nodes, of));
  std::ranges::sort(parts);
  return fmt::format("{}{}{}", message.substr(0, begin), fmt::join(parts, kSeparator), message.substr(end));
}

Decision RecordedDecision(element scenario) {
  return {std::string(std::string_view(scenario["rejection"])), Joined(element(scenario["feasible"])),
          std::string(std::string_view(scenario["message"])), std::string(std::string_view(scenario["node"])),
          Joined(element(scenario["victims"]))};
}

// All objects of the scenario as one list.
std::string ObjectsOf(element scenario) {
  std::vector<std::string> items{simdjson::minify(element(scenario["pod"]))};
  for (const char* member : {"quotas", "classes", "nodes", "placed", "budgets", "nominated"}) {
    array objects;
    if (scenario[member].get(objects) != simdjson::SUCCESS) continue;
    for (const element object : objects) items.push_back(simdjson::minify(object));
  }
  return fmt::format(R"({{"kind":"List","apiVersion":"v1","items":[{}]}})", fmt::join(items, ","));
}

std::shared_ptr<const AttemptRecord> Evaluate(element scenario, const runtime::Registry& registry) {
  std::vector<std::string> notes, problems;
  config::ParseOptions options;
  options.codecs = &registry.codecs();
  const config::SchedulerConfig config =
      Checked(config::ParseSchedulerConfig(HasClasses(scenario) ? kTolerations : kConfig, options));
  const auto explainer = Checked(assembly::Explainer::Create(config, registry, notes));
  if (auto loaded = explainer->Load(ObjectsOf(scenario), "scenario", problems); !loaded)
    throw std::runtime_error(loaded.error().message);
  if (!problems.empty()) throw std::runtime_error(problems.front());
  const element pod = scenario["pod"]["metadata"];
  const std::string key =
      fmt::format("{}/{}", std::string_view(pod["namespace"]), std::string_view(pod["name"]));
  std::shared_ptr<const AttemptRecord> record;
  const auto evaluated = explainer->Evaluate(
      {key}, [&](const assembly::Explainer::Evaluated& result) { record = result.record; });
  if (!evaluated) throw std::runtime_error(evaluated.error().message);
  return record;
}

std::vector<std::string> NamesOf(const AttemptRecord& record, const RowSet& rows) {
  std::vector<std::string> names;
  rows.ForEach([&](std::size_t row) { names.push_back(record.nodes->by_row[row]); });
  return names;
}

// `recorded` decides between equally good nodes, whose victims differ.
Decision DecisionOf(const AttemptRecord& record, const Decision& recorded) {
  Decision decision{
      .rejection = record.pre_filter ? fmt::format("{}", fmt::join(record.pre_filter->reasons, ", ")) : "",
      .feasible = Joined(NamesOf(record, record.feasible.get())),
      .message = record.result == record::Result::kUnschedulable ? record.message : "",
      .node = {},
      .victims = {}};
  if (!record.nomination) return decision;
  decision.node = record.nomination->node;
  decision.victims = Joined(record.nomination->victims);
  const std::vector<std::string> choices = NamesOf(record, record.nomination->choices);
  if (decision.node != recorded.node && std::ranges::find(choices, recorded.node) != choices.end()) {
    decision.node = recorded.node;
    decision.victims = recorded.victims;
  }
  return decision;
}

class Comparison {
 public:
  void Compare(std::string_view line) {
    simdjson::dom::parser parser;
    const element scenario = parser.parse(simdjson::padded_string(line));
    const Decision wanted = RecordedDecision(scenario);
    const auto record = Evaluate(scenario, registry_);
    const Decision got = DecisionOf(*record, wanted);
    const std::uint64_t seed = scenario["seed"];
    Check(seed, "rejection by PreFilter", wanted.rejection, got.rejection);
    Check(seed, "feasible nodes", wanted.feasible, got.feasible);
    const bool tolerations = HasClasses(scenario);
    if (!tolerations) {
      Check(seed, "message", WithSortedErrors(WithCountedNodes(wanted.message)),
            WithSortedErrors(got.message));
    }
    Check(seed, "nominated node", wanted.node, got.node);
    Check(seed, "victims", wanted.victims, got.victims);
    ++attempts_;
    Count("feasible", !wanted.feasible.empty());
    Count("preempting", !wanted.node.empty());
    Count("without victims on a node", wanted.message.find("No victims found") != std::string::npos);
    if (tolerations)
      return Count("with a missing class", wanted.message.find("not found") != std::string::npos);
    Count("rejected beyond the maximum", wanted.rejection.ends_with("is more than Max"));
    Count("rejected beyond all minimums", wanted.rejection.ends_with("is more than min"));
    Count("preempting within quotas", !wanted.node.empty() && !wanted.rejection.empty());
    Count("with quotas exceeded on a node", wanted.message.find("global quota max") != std::string::npos);
  }

  int Report() const {
    bool complete = true;
    fmt::print("{} attempts, {} mismatches\n", attempts_, mismatches_);
    for (const auto& [what, count] : counts_) {
      fmt::print("  {}: {}\n", what, count);
      complete = complete && count >= kLeastResults;
    }
    if (!complete) fmt::print("fewer than {} results of a kind: the recording is too short\n", kLeastResults);
    return mismatches_ == 0 && complete ? 0 : 1;
  }

 private:
  void Check(std::uint64_t seed, std::string_view what, const std::string& wanted, const std::string& got) {
    if (wanted == got) return;
    if (++mismatches_ <= kShownMismatches)
      fmt::print("seed {}: {}: scheduler-plugins \"{}\", berth \"{}\"\n", seed, what, wanted, got);
  }
  void Count(const std::string& what, bool is) { counts_[what] += is ? 1 : 0; }

  const runtime::Registry registry_ = assembly::InTreePlugins();
  std::size_t attempts_ = 0;
  int mismatches_ = 0;
  std::map<std::string, std::size_t> counts_;
};

}  // namespace
}  // namespace berth::replay

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "Usage: quotas_replay FILE\n");
    return 2;
  }
  try {
    berth::replay::Comparison comparison;
    berth::testing::ForEachLine(argv[1], [&](std::string_view line) { comparison.Compare(line); });
    return comparison.Report();
  } catch (const std::exception& error) {
    fmt::print("quotas_replay: {}\n", error.what());
    return 2;
  }
}
