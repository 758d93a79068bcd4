#include "tools/rebalance/planner.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "scheduler/plugins/load_aware/presets.hpp"
#include "scheduler/plugins/load_metrics/workload_usage.hpp"
#include "tools/rebalance/cluster_copy.hpp"
#include "tools/rebalance/protection.hpp"

namespace berth::rebalance {

using cluster::Row;
using plugins::Link;

namespace {

constexpr std::size_t kPodsOfNode = 8;
constexpr std::size_t kPodsEvaluated = 256;
// Time from a scrape to the end of the poll; a pod that started within it is not measured at all.
constexpr Duration kPollDelay = std::chrono::seconds(30);

double Request(const cluster::PlacedPod& pod, std::string_view resource) {
  return resource == "cpu" ? static_cast<double>(pod.use().non_zero_milli_cpu) / 1000
                           : static_cast<double>(pod.use().non_zero_memory);
}

// The cost of an eviction, in percent of a node, so that it can be compared with the benefit.
struct Cost {
  double value = 0;
  std::vector<std::string> parts;
  void Add(double by, std::string_view reason) {
    if (by < 0.05) return;
    value += by;
    parts.push_back(fmt::format("{} {:.1f}", reason, by));
  }
};

double CostOfController(const api::Pod& pod) {
  const auto& controller = pod.metadata.controller;
  if (!controller) return 6;
  if (controller->kind == "ReplicaSet" || controller->kind == "Deployment") return 0;
  if (controller->kind == "StatefulSet") return 3;
  return controller->kind == "Job" ? 4 : 1;
}

class Planner {
 public:
  explicit Planner(const PlanInput& input)
      : input_(input),
        load_(input.load),
        cluster_(input.live.cache()),
        now_(input.clock.WallNow()),
        workloads_(cluster_, input.pending, now_),
        budgets_(cluster_.objects()) {}

  Expected<Plan> Run();

 private:
  struct Candidate {
    api::PodPtr pod;
    std::size_t node = 0;  // in plan_.overloaded
    double pod_load = 0;
    Cost cost;
  };

  std::string MissingSignals();
  void FindOverloaded();
  void LearnTraffic();
  void CollectCandidates();
  void CollectFrom(std::size_t node);
  void Evaluate();
  void ChooseMoves();
  // The move, or the reason why there is none.
  std::expected<Move, Verdict> MoveOf(const Candidate& candidate);
  std::optional<Verdict> CheckDestination(const Candidate& candidate, const std::string& to);
  // `near`: where the scheduler may place the pod.
  std::optional<Verdict> CheckLeftNodes(const Candidate& candidate,
                                        const std::vector<std::string>& near) const;
  std::optional<Verdict> CheckReturn(const Candidate& candidate, const std::string& to);
  // The limits that do not depend on the destination, which may change with each accepted move.
  std::optional<Verdict> CheckLimits(const Move& move) const;
  std::optional<Verdict> CheckDestinationLimit(const Move& move) const;
  void Accept(const Candidate& candidate, Move move);
  // Of the old node, where the link that the pod uses is not known.
  enum class Relief : std::uint8_t { kLeast, kMost };
  void MoveLoad(const Candidate& candidate, const std::string& to, double sign, Relief relief);

  SignalLoad& SignalOf(const OverloadedNode& node) { return load_.signals[node.signal_index]; }
  Cost CostOf(const api::Pod& pod) const;
  Row RowOf(std::string_view node) const { return cluster_.nodes().Find(node); }
  // In percent of the node; NaN: unknown. Of traffic: the least that the pod takes from the node `from`, and
  // the most that it adds to another one, because the link that it uses is not known.
  double PodLoad(const SignalLoad& signal, const api::Pod& pod, std::string_view from,
                 std::string_view on) const;
  // An equal share of its node's load, for what is not measured per pod.
  double SharedLoad(const SignalLoad& signal, std::string_view node) const;
  // `link`: with whose speed traffic is compared.
  double PercentOf(const SignalLoad& signal, double usage, std::string_view node, Link link) const;
  // The usage of a pod that may not be measured yet.
  double ExpectedUsage(const SignalLoad& signal, const cluster::PlacedPod& pod) const;
  // The measured load and the part of the load of new pods that is not measured yet.
  double ExpectedLoad(const SignalLoad& signal, const std::string& node) const;
  void Reject(const Candidate& candidate, Verdict verdict) {
    plan_.Reject({candidate.pod->metadata.Key(), plan_.overloaded[candidate.node].name, verdict.why,
                  std::move(verdict.reason)});
  }

  const PlanInput& input_;
  MeasuredLoad load_;  // with the moves that were accepted
  cluster::ClusterState& cluster_;
  const WallTime now_;
  const Workloads workloads_;
  cluster::EvictionBudgets budgets_;
  std::unique_ptr<ClusterCopy> copy_;
  // The highest traffic of a pod by signal and workload.
  std::map<std::string, std::map<std::string, double>, std::less<>> traffic_of_workloads_;
  std::vector<Candidate> candidates_;
  std::vector<std::pair<Move, Candidate>> possible_;
  Plan plan_;
};

Expected<Plan> Planner::Run() {
  plan_.nodes = cluster_.nodes().node_count();
  plan_.stopped = MissingSignals();
  if (!plan_.stopped.empty()) return std::move(plan_);
  FindOverloaded();
  if (plan_.overloaded.empty()) return std::move(plan_);
  if (input_.history.Since(now_ - std::chrono::hours(1)) >= input_.settings.per_hour) {
    plan_.stopped =
        fmt::format("{} pods were moved within the last hour, which is the limit", input_.settings.per_hour);
    return std::move(plan_);
  }
  LearnTraffic();
  CollectCandidates();
  if (candidates_.empty()) return std::move(plan_);
  BERTH_TRY(copy_, ClusterCopy::Create({input_.config, input_.plugins, input_.live, input_.pending,
                                        input_.load, input_.clock}));
  Evaluate();
  ChooseMoves();
  return std::move(plan_);
}

// --- signals ---

std::string Planner::MissingSignals() {
  plan_.measured_nodes = plan_.nodes;
  for (const SignalLoad& signal : load_.signals) {
    if (!signal.unavailable.empty())
      return fmt::format("the signal {} is unavailable: {}", signal.name, signal.unavailable);
    const auto measured = static_cast<std::size_t>(
        std::ranges::count_if(signal.nodes, [](const auto& node) { return !std::isnan(node.second.now); }));
    plan_.measured_nodes = std::min(plan_.measured_nodes, measured);
    if (2 * measured < plan_.nodes || measured == 0)
      return fmt::format("the signal {} has values for only {} of {} nodes", signal.name, measured,
                         plan_.nodes);
  }
  for (const auto& [resource, why] : load_.usage_unavailable)
    return fmt::format("the {} usage of pods is unavailable: {}", resource, why);
  for (const auto& [resource, usage] : load_.usage) {
    if (usage.empty()) return fmt::format("the {} usage of pods is unavailable: no values", resource);
  }
  return {};
}

void Planner::FindOverloaded() {
  cluster_.nodes().all().ForEach([&](std::size_t at) {
    const std::string& name = cluster_.nodes().name(static_cast<Row>(at));
    std::optional<OverloadedNode> worst;
    for (std::size_t i = 0; i < load_.signals.size(); ++i) {
      const SignalLoad& signal = load_.signals[i];
      const NodeLoad& node = signal.nodes.find(name)->second;
      const bool above = node.now > signal.threshold && node.lowest > signal.threshold;  // false for NaN
      if (!above || (worst && worst->load - worst->threshold >= node.now - signal.threshold)) continue;
      worst = OverloadedNode{name, signal.name, node.now, node.lowest, signal.threshold, "", i};
    }
    if (worst) plan_.overloaded.push_back(std::move(*worst));
  });
  std::ranges::sort(plan_.overloaded, [](const OverloadedNode& a, const OverloadedNode& b) {
    const double excess_a = a.load - a.threshold, excess_b = b.load - b.threshold;
    return excess_a != excess_b ? excess_a > excess_b : a.name < b.name;
  });
}

void Planner::LearnTraffic() {
  for (const SignalLoad& signal : load_.signals) {
    if (!signal.traffic) continue;
    const Usage& usage = load_.usage.find(signal.resource)->second;
    std::map<std::string, double>& workloads = traffic_of_workloads_[signal.name];
    cluster_.nodes().all().ForEach([&](std::size_t row) {
      for (const cluster::PlacedPod* pod : cluster_.nodes().pods(static_cast<Row>(row))) {
        const auto found = usage.find(pod->pod->metadata.Key());
        if (found == usage.end() || pod->pod->spec.host_network) continue;
        double& highest = workloads[plugins::WorkloadOf(*pod->pod)];
        highest = std::max(highest, found->second);
      }
    });
  }
}

double Planner::PercentOf(const SignalLoad& signal, double usage, std::string_view node, Link link) const {
  if (signal.traffic) {
    const NodeLoad& load = signal.nodes.find(node)->second;
    const double speed = link == Link::kSlowest ? load.slowest_link : load.fastest_link;
    return speed > 0 ? 100 * usage / speed : load_metrics::kNoValue;
  }
  const cluster::ResourceId resource = signal.resource == "cpu" ? cluster::kCpu : cluster::kMemory;
  const auto offered = cluster_.nodes().allocatable(resource);
  const Row row = RowOf(node);
  if (row == cluster::kNoRow || row >= offered.size() || offered[row] <= 0) return load_metrics::kNoValue;
  const double amount = signal.resource == "cpu" ? usage * 1000 : usage;
  return 100 * amount / static_cast<double>(offered[row]);
}

double Planner::PodLoad(const SignalLoad& signal, const api::Pod& pod, std::string_view from,
                        std::string_view on) const {
  if (signal.resource.empty()) return SharedLoad(signal, from);
  const auto usage = load_.usage.find(signal.resource);
  if (usage == load_.usage.end() || (signal.traffic && pod.spec.host_network)) return load_metrics::kNoValue;
  const auto found = usage->second.find(pod.metadata.Key());
  if (found == usage->second.end()) return load_metrics::kNoValue;
  return PercentOf(signal, found->second, on, on == from ? Link::kFastest : Link::kSlowest);
}

double Planner::SharedLoad(const SignalLoad& signal, std::string_view node) const {
  const std::size_t pods = cluster_.nodes().pods(RowOf(node)).size();
  return signal.nodes.find(node)->second.now / static_cast<double>(std::max<std::size_t>(1, pods));
}

double Planner::ExpectedUsage(const SignalLoad& signal, const cluster::PlacedPod& pod) const {
  const Usage& usage = load_.usage.find(signal.resource)->second;
  const auto found = usage.find(pod.pod->metadata.Key());
  const double known = found == usage.end() ? 0 : found->second;
  if (!signal.traffic) return std::max(known, Request(pod, signal.resource));
  if (pod.pod->spec.host_network) return 0;
  const auto& workloads = traffic_of_workloads_.find(signal.name)->second;
  const std::string workload = plugins::WorkloadOf(*pod.pod);
  const auto highest = workload.empty() ? workloads.end() : workloads.find(workload);
  return highest == workloads.end() ? known : std::max(known, highest->second);
}

double Planner::ExpectedLoad(const SignalLoad& signal, const std::string& node) const {
  const double measured = signal.nodes.find(node)->second.now;
  if (signal.resource.empty()) return measured;
  double unmeasured = 0;
  const Row row = RowOf(node);
  for (const cluster::PlacedPod* pod : cluster_.nodes().pods(row)) {
    const Duration age = AgeOf(*pod->pod, now_) - kPollDelay;
    if (age >= signal.smoothing) continue;
    const double measured_part = age <= Duration{} ? 0
                                                   : std::chrono::duration<double>(age) /
                                                         std::chrono::duration<double>(signal.smoothing);
    // The usage of a new pod is measured in part, too.
    unmeasured += (1 - measured_part) * PercentOf(signal, ExpectedUsage(signal, *pod), node, Link::kSlowest);
  }
  return measured + unmeasured;
}

// --- candidates ---

void Planner::CollectCandidates() {
  for (std::size_t i = 0; i < plan_.overloaded.size(); ++i) {
    OverloadedNode& node = plan_.overloaded[i];
    const auto last = input_.history.LastOfNode(node.name);
    if (SignalOf(node).resource.empty()) {
      const std::string& why = SignalOf(node).not_per_pod;
      node.note =
          fmt::format("the {} load of pods is not measured{}{}", node.signal, why.empty() ? "" : ": ", why);
    } else if (last && now_ - *last < input_.settings.cool_down) {
      node.note = fmt::format("a pod was moved from or to the node {} ago", ShortDuration(now_ - *last));
    } else {
      CollectFrom(i);
    }
  }
}

void Planner::CollectFrom(std::size_t index) {
  const OverloadedNode& node = plan_.overloaded[index];
  const SignalLoad& signal = SignalOf(node);
  const ProtectionParts protection{input_.settings, input_.history,       workloads_,
                                   budgets_,        input_.live.groups(), now_};
  std::vector<Candidate> found;
  for (const cluster::PlacedPod* placed : cluster_.nodes().pods(RowOf(node.name))) {
    Candidate candidate{placed->pod, index, PodLoad(signal, *placed->pod, node.name, node.name), {}};
    const api::Pod& pod = *candidate.pod;
    if (input_.live.FindProfile(pod.spec.scheduler_name) == nullptr) {
      Reject(candidate, {Rejection::kProtected,
                         fmt::format("the scheduler {} places it", pod.spec.scheduler_name.str())});
    } else if (auto verdict = ProtectionOf(pod, protection)) {
      Reject(candidate, std::move(*verdict));
    } else if (std::isnan(candidate.pod_load)) {
      Reject(candidate,
             {Rejection::kNotMeasured, signal.traffic && pod.spec.host_network
                                           ? "it uses the network of its node, so its traffic is not measured"
                                           : fmt::format("its {} usage is not measured", signal.resource)});
    } else if (candidate.pod_load < input_.settings.min_benefit) {
      Reject(candidate, {Rejection::kTooLittle, fmt::format("its {} load is only {:.1f}% of the node",
                                                            signal.name, candidate.pod_load)});
    } else {
      candidate.cost = CostOf(pod);
      found.push_back(std::move(candidate));
    }
  }
  // Rows have no defined order.
  std::ranges::sort(found, [](const Candidate& a, const Candidate& b) {
    const double net_a = a.pod_load - a.cost.value, net_b = b.pod_load - b.cost.value;
    return net_a != net_b ? net_a > net_b : a.pod->metadata.Key() < b.pod->metadata.Key();
  });
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i < kPodsOfNode && candidates_.size() < kPodsEvaluated) {
      candidates_.push_back(std::move(found[i]));
    } else {
      Reject(found[i], {Rejection::kNotEvaluated, "other pods of the node have more load or less cost"});
    }
  }
}

Cost Planner::CostOf(const api::Pod& pod) const {
  Cost cost;
  if (pod.spec.priority > 0) cost.Add(std::log10(1 + pod.spec.priority) / 2, "priority");
  const double hours = std::chrono::duration<double, std::ratio<3600>>(AgeOf(pod, now_)).count();
  cost.Add(std::min(4.0, hours / 12), "age");
  const cluster::EvictionBudgets::Room room = budgets_.For(pod);
  if (room.budgets == 1 && room.left == 1) cost.Add(2, "last disruption of its budget");
  if (pod.spec.local_storage) cost.Add(3, "local storage");
  cost.Add(CostOfController(pod), "controller");
  if (workloads_.Of(plugins::WorkloadOf(pod)).pods == 1) cost.Add(4, "only pod of its workload");
  return cost;
}

// --- decisions ---

void Planner::Evaluate() {
  for (Candidate& candidate : candidates_) {
    if (auto move = MoveOf(candidate)) {
      possible_.emplace_back(std::move(*move), std::move(candidate));
    } else {
      Reject(candidate, std::move(move.error()));
    }
  }
}

std::expected<Move, Verdict> Planner::MoveOf(const Candidate& candidate) {
  const OverloadedNode& node = plan_.overloaded[candidate.node];
  const SignalLoad& signal = SignalOf(node);
  ++plan_.evaluations;
  const ClusterCopy::Choice choice = copy_->Choose(candidate.pod);
  if (choice.nodes.empty())
    return std::unexpected(Verdict{Rejection::kNoNode, "the scheduler finds no node: " + choice.failure});
  if (std::ranges::find(choice.nodes, node.name) != choice.nodes.end())
    return std::unexpected(Verdict{Rejection::kSameNode, "the scheduler would place it on the same node"});
  for (const std::string& to : choice.nodes) {  // it chooses one of them at random
    if (auto verdict = CheckDestination(candidate, to)) return std::unexpected(std::move(*verdict));
  }
  if (auto verdict = CheckLeftNodes(candidate, choice.near)) return std::unexpected(std::move(*verdict));
  const auto after = [&](const std::string& to) {
    return ExpectedLoad(signal, to) + PodLoad(signal, *candidate.pod, node.name, to);
  };
  const std::string& to = *std::ranges::max_element(choice.nodes, {}, after);
  Move move{.pod = candidate.pod,
            .workload = plugins::WorkloadOf(*candidate.pod),
            .from = node.name,
            .to = to,
            .alternatives = {},
            .signal = node.signal,
            .signal_index = node.signal_index,
            .threshold = node.threshold,
            .pod_load = candidate.pod_load,
            .from_before = signal.nodes.find(node.name)->second.now,
            .from_after = signal.nodes.find(node.name)->second.now - candidate.pod_load,
            .to_before = ExpectedLoad(signal, to),
            .to_after = after(to),
            .cost = candidate.cost.value,
            .costs = candidate.cost.parts,
            .reason = {}};
  move.benefit = move.from_before - std::max(move.from_after, move.to_after);
  if (move.benefit < input_.settings.min_benefit || move.benefit <= move.cost) {
    return std::unexpected(Verdict{
        Rejection::kTooLittle,
        fmt::format("on {} the benefit would be {:.1f}, the cost {:.1f}", to, move.benefit, move.cost)});
  }
  if (auto verdict = CheckReturn(candidate, to)) return std::unexpected(std::move(*verdict));
  std::ranges::copy_if(choice.nodes, std::back_inserter(move.alternatives),
                       [&](const std::string& name) { return name != to; });
  const std::string others = move.alternatives.empty()
                                 ? std::string()
                                 : fmt::format(" or one of {} equally good nodes", move.alternatives.size());
  move.reason = fmt::format(
      "{} {} was above {:.0f}% for {}; the scheduler would place the pod on {}{}, which stays at {:.1f}% or "
      "less, and would not choose {} again",
      node.name, node.signal, node.threshold, ShortDuration(input_.settings.window), to, others,
      move.to_after, node.name);
  return move;
}

std::optional<Verdict> Planner::CheckDestination(const Candidate& candidate, const std::string& to) {
  const std::string& from = plan_.overloaded[candidate.node].name;
  const auto reject = [&](std::string reason) {
    return Verdict{Rejection::kDestination,
                   fmt::format("the scheduler would place it on {}: {}", to, reason)};
  };
  for (const SignalLoad& signal : load_.signals) {
    double added = PodLoad(signal, *candidate.pod, from, to);
    // A pod whose traffic is not measured may move for other load.
    if (std::isnan(added) && signal.traffic) added = SharedLoad(signal, from);
    const double after = ExpectedLoad(signal, to) + added;
    if (std::isnan(added))
      return Verdict{Rejection::kNotMeasured, fmt::format("its {} load is not measured", signal.name)};
    if (std::isnan(after)) return reject(fmt::format("its {} load is not measured", signal.name));
    const double most = signal.threshold - input_.settings.margin;
    if (after > most)
      return reject(fmt::format("with {} at {:.1f}%, above {:.1f}%", signal.name, after, most));
  }
  return std::nullopt;
}

std::optional<Verdict> Planner::CheckLeftNodes(const Candidate& candidate,
                                               const std::vector<std::string>& near) const {
  const std::string workload = plugins::WorkloadOf(*candidate.pod);
  if (workload.empty()) return std::nullopt;
  for (const std::string& node : near) {
    const auto left = input_.history.Left(workload, node);
    if (left && now_ - *left < input_.settings.no_return)
      return Verdict{Rejection::kWouldReturn,
                     fmt::format("the scheduler may place it on {}, which a pod of {} left {} ago", node,
                                 workload, ShortDuration(now_ - *left))};
  }
  return std::nullopt;
}

std::optional<Verdict> Planner::CheckReturn(const Candidate& candidate, const std::string& to) {
  const std::string& from = plan_.overloaded[candidate.node].name;
  // The more the move relieves the old node, the better is the score of that node.
  MoveLoad(candidate, to, 1, Relief::kMost);
  ++plan_.evaluations;
  const ClusterCopy::Choice choice = copy_->Choose(candidate.pod);
  MoveLoad(candidate, to, -1, Relief::kMost);
  if (choice.nodes.empty())
    return Verdict{Rejection::kWouldReturn,
                   "after the move, the scheduler would find no node: " + choice.failure};
  if (std::ranges::find(choice.near, from) == choice.near.end()) return std::nullopt;
  return Verdict{Rejection::kWouldReturn,
                 fmt::format("after a move to {}, the scheduler may choose {} again", to, from)};
}

void Planner::MoveLoad(const Candidate& candidate, const std::string& to, double sign, Relief relief) {
  const std::string& from = plan_.overloaded[candidate.node].name;
  for (const SignalLoad& signal : load_.signals) {
    if (signal.resource.empty()) continue;  // an equal share is too coarse
    const NodeLoad& old = signal.nodes.find(from)->second;
    double taken = PodLoad(signal, *candidate.pod, from, from);
    if (signal.traffic && relief == Relief::kMost)
      taken = std::min(old.now, taken * old.fastest_link / old.slowest_link);
    const double added = PodLoad(signal, *candidate.pod, from, to);
    if (std::isnan(taken) || std::isnan(added)) continue;
    copy_->AddLoad(signal, from, -sign * taken);
    copy_->AddLoad(signal, to, sign * added);
  }
}

// --- selection ---

void Planner::ChooseMoves() {
  std::ranges::sort(possible_, [](const auto& a, const auto& b) {
    const double net_a = a.first.benefit - a.first.cost, net_b = b.first.benefit - b.first.cost;
    return net_a != net_b ? net_a > net_b : a.second.pod->metadata.Key() < b.second.pod->metadata.Key();
  });
  for (auto& [move, candidate] : possible_) {
    if (auto verdict = CheckLimits(move)) {
      Reject(candidate, std::move(*verdict));
      continue;
    }
    // The accepted moves have changed the copy.
    if (!plan_.moves.empty()) {
      auto again = MoveOf(candidate);
      if (!again) {
        Reject(candidate, std::move(again.error()));
        continue;
      }
      move = std::move(*again);
    }
    if (auto verdict = CheckDestinationLimit(move)) {
      Reject(candidate, std::move(*verdict));
    } else {
      Accept(candidate, std::move(move));
    }
  }
}

std::optional<Verdict> Planner::CheckLimits(const Move& move) const {
  const PlanSettings& limits = input_.settings;
  const auto count = [&](auto&& matches) { return std::ranges::count_if(plan_.moves, matches); };
  const auto limit = [](std::string reason) { return Verdict{Rejection::kLimit, std::move(reason)}; };
  const auto planned = static_cast<std::int64_t>(plan_.moves.size());
  if (planned >= limits.per_round) return limit("the limit of moves per round is reached");
  if (planned + input_.history.Since(now_ - std::chrono::hours(1)) >= limits.per_hour)
    return limit("the limit of moves per hour is reached");
  if (count([&](const Move& other) { return other.from == move.from; }) >= limits.per_node)
    return limit("the limit of moves from " + move.from + " is reached");
  const std::string& ns = move.pod->metadata.ns;
  if (count([&](const Move& other) { return other.pod->metadata.ns.str() == ns; }) >= limits.per_namespace)
    return limit("the limit of moves in namespace " + ns + " is reached");
  if (!move.workload.empty() &&
      count([&](const Move& other) { return other.workload == move.workload; }) >= limits.per_workload)
    return limit("the limit of moves of " + move.workload + " is reached");
  if (const cluster::EvictionBudgets::Room room = budgets_.For(*move.pod); room.budgets > 0 && room.left <= 0)
    return Verdict{Rejection::kBudget,
                   fmt::format("other moves use the disruptions of the PodDisruptionBudget {}", room.name)};
  const SignalLoad& signal = load_.signals[move.signal_index];
  if (signal.nodes.find(move.from)->second.now <= signal.threshold)
    return limit("other moves lower the load of " + move.from + " sufficiently");
  return std::nullopt;
}

std::optional<Verdict> Planner::CheckDestinationLimit(const Move& move) const {
  const auto moves = std::ranges::count(plan_.moves, move.to, &Move::to);
  if (moves < input_.settings.per_node) return std::nullopt;
  return Verdict{Rejection::kLimit, "the limit of moves to " + move.to + " is reached"};
}

void Planner::Accept(const Candidate& candidate, Move move) {
  MoveLoad(candidate, move.to, 1, Relief::kLeast);
  for (SignalLoad& signal : load_.signals) {
    if (signal.resource.empty()) continue;
    const double on_from = PodLoad(signal, *candidate.pod, move.from, move.from);
    const double on_to = PodLoad(signal, *candidate.pod, move.from, move.to);
    if (std::isnan(on_from) || std::isnan(on_to)) continue;
    signal.nodes.find(move.from)->second.now -= on_from;
    signal.nodes.find(move.to)->second.now += on_to;
  }
  copy_->Move(candidate.pod, move.to);
  budgets_.Take(*candidate.pod);
  plan_.moves.push_back(std::move(move));
}

}  // namespace

std::string_view NameOf(Rejection rejection) {
  constexpr std::string_view kNames[kRejections] = {
      "protected", "budget",      "too-young",    "cool-down",  "not-measured", "no-node",
      "same-node", "destination", "would-return", "too-little", "limit",        "not-evaluated"};
  return kNames[static_cast<std::size_t>(rejection)];
}

Expected<Plan> MakePlan(const PlanInput& input) { return Planner(input).Run(); }

}  // namespace berth::rebalance
