#include "tools/simulate/autoscaler.hpp"

#include <algorithm>
#include <cmath>

#include "kubernetes/api/selectors.hpp"

namespace berth::simulate {
namespace {

constexpr Duration kInterval = std::chrono::seconds(10);

bool MatchesTerm(const api::NodeSelectorTerm& term, const api::Labels& labels) {
  if (term.empty() || !term.match_fields.empty()) return false;
  return std::ranges::all_of(term.match_expressions, [&](const api::NodeSelectorRequirement& expression) {
    const auto parsed = api::ParseNodeRequirement(expression, "", nullptr);
    return parsed && parsed->Matches(labels.Find(expression.key));
  });
}

// Whether the pod may run on a node of the group by labels and taints. Zone and hostname of future nodes are
// not known, so pods that select them do not match.
bool Admits(const api::Node& node, const api::PodSpec& pod) {
  const api::Labels& labels = node.metadata.labels;
  for (const auto& [key, value] : pod.node_selector) {
    const std::string* found = labels.Find(key);
    if (found == nullptr || *found != value) return false;
  }
  if (pod.node_affinity && pod.node_affinity->required) {
    const auto& terms = pod.node_affinity->required->terms;
    if (std::ranges::none_of(terms, [&](const auto& term) { return MatchesTerm(term, labels); }))
      return false;
  }
  return std::ranges::all_of(node.taints, [&](const api::Taint& taint) {
    return !api::TaintStopsScheduling(taint) ||
           std::ranges::any_of(pod.tolerations,
                               [&](const auto& toleration) { return api::Tolerates(toleration, taint); });
  });
}

}  // namespace

Autoscaler::Autoscaler(const Workload& workload, simulation::VirtualCluster& cluster, const Meter& meter,
                       NodeFleet& fleet, Result& result)
    : workload_(workload),
      cluster_(cluster),
      meter_(meter),
      fleet_(fleet),
      result_(result),
      on_their_way_(workload.groups.size()) {}

void Autoscaler::Start(KindOf kind_of) {
  kind_of_ = std::move(kind_of);
  const auto scales = [](const NodeGroup& group) { return group.autoscaling.has_value(); };
  if (std::ranges::none_of(workload_.groups, scales)) return;
  for (std::size_t group = 0; group < workload_.groups.size(); ++group) {
    auto& of_group = capacity_.emplace_back();
    for (std::uint32_t kind = 0; kind < workload_.kinds.size(); ++kind)
      of_group.push_back(scales(workload_.groups[group]) ? Capacity(group, kind) : 0);
  }
  cluster_.time().After(kInterval, [this] { Step(); });
}

std::int64_t Autoscaler::Capacity(std::size_t group, std::uint32_t kind) const {
  if (!Admits(workload_.groups[group].model, workload_.kinds[kind].model.spec)) return 0;
  const Amounts& offered = meter_.allocatable(group);
  const Amounts& requested = meter_.requests(kind);
  const auto pods = workload_.groups[group].model.allocatable.find("pods");
  std::int64_t capacity = pods == workload_.groups[group].model.allocatable.end() ? 0 : pods->second.Value();
  for (std::size_t i = 0; i < kMostResources; ++i) {
    if (requested[i] > 0) capacity = std::min(capacity, offered[i] / requested[i]);
  }
  return capacity;
}

void Autoscaler::Step() {
  ScaleOut();
  ScaleIn();
  cluster_.time().After(kInterval, [this] { Step(); });
}

void Autoscaler::ScaleOut() {
  // Without a node every attempt is an error, and the pod waits in back-off.
  std::size_t nodes = 0;
  std::vector<std::size_t> usable = on_their_way_;
  for (std::uint32_t index = 0; index < fleet_.size(); ++index) {
    const NodeFleet::Node& node = fleet_.at(index);
    if (!node.ready) continue;
    ++nodes;
    if (node.pods.empty()) ++usable[node.group];
  }
  std::vector<std::size_t> waiting(workload_.kinds.size());
  cluster_.scheduler().queue().ForEach([&](const framework::QueuedPod& pod, std::string_view place) {
    if (place != "unschedulable" && nodes > 0) return;
    if (const auto kind = kind_of_(pod.info.pod->metadata.uid)) ++waiting[*kind];
  });
  std::vector<double> needed(workload_.groups.size());
  for (std::size_t kind = 0; kind < waiting.size(); ++kind) {
    if (waiting[kind] == 0) continue;
    for (std::size_t group = 0; group < needed.size(); ++group) {
      if (capacity_[group][kind] <= 0) continue;
      needed[group] += static_cast<double>(waiting[kind]) / static_cast<double>(capacity_[group][kind]);
      break;
    }
  }
  for (std::size_t group = 0; group < needed.size(); ++group) {
    const auto& policy = workload_.groups[group].autoscaling;
    if (!policy) continue;
    const std::size_t have = fleet_.count(group) + on_their_way_[group];
    const auto want = static_cast<std::size_t>(std::ceil(needed[group]));
    std::size_t more = want - std::min(want, usable[group]);
    more = std::max(more, policy->least - std::min(policy->least, have));
    more = std::min(more, policy->most - std::min(policy->most, have));
    for (std::size_t i = 0; i < more; ++i) {
      ++on_their_way_[group];
      cluster_.time().After(policy->provision, [this, group] {
        --on_their_way_[group];
        ++result_.nodes_added;
        fleet_.Add(group);
      });
    }
  }
}

void Autoscaler::ScaleIn() {
  const Duration now = cluster_.time().now();
  for (std::uint32_t index = 0; index < fleet_.size(); ++index) {
    const NodeFleet::Node& node = fleet_.at(index);
    const auto& policy = workload_.groups[node.group].autoscaling;
    const bool idle = node.ready && node.pods.empty() && policy && now - node.empty_since >= policy->idle;
    if (idle && fleet_.count(node.group) > policy->least) fleet_.Remove(index);
  }
}

}  // namespace berth::simulate
