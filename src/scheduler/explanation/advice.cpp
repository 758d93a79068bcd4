#include "scheduler/explanation/advice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "scheduler/explanation/group_advice.hpp"

namespace berth::explanation {
namespace {

constexpr std::size_t kMostGroups = 6;   // whose obstacles proposals are made for
constexpr std::size_t kMostTrials = 40;  // evaluations of proposals
constexpr std::size_t kMostAdvice = 8;
constexpr std::size_t kMostObstacles = 3;  // plugins per proposal
constexpr std::size_t kVariants = 2;       // combinations per group with several plugins
constexpr std::size_t kNewNodes = 3;       // kinds of new nodes
constexpr int kPriorityEffort = 7;
constexpr std::int32_t kHighestPriority = 1'000'000'000;  // of priority classes that users may define

struct Proposal {
  std::vector<Fix> fixes;
  // The objections of two plugins may need the same step: a node where a volume is.
  void Add(Fix fix) {
    if (std::ranges::find(fixes, fix.text, &Fix::text) == fixes.end()) fixes.push_back(std::move(fix));
  }
  std::vector<std::string> Steps() const {
    std::vector<std::string> steps;
    for (const Fix& fix : fixes) steps.push_back(fix.text);
    return steps;
  }
  bool NamesNode() const { return std::ranges::any_of(fixes, &Fix::names_node); }
  bool ChangesNode() const {
    return std::ranges::any_of(fixes, [](const Fix& fix) { return fix.on_node != nullptr; });
  }
  int Effort() const {
    int sum = 0;
    for (const Fix& fix : fixes) sum += fix.effort;
    return sum;
  }
};

struct RankedAdvice {
  Advice advice;
  int effort = 0;
};

std::vector<std::string> PluginsOf(const RowGroup& group) {
  std::vector<std::string> plugins;
  for (const Obstacle* obstacle : group.obstacles) {
    if (std::ranges::find(plugins, obstacle->plugin) == plugins.end()) plugins.push_back(obstacle->plugin);
  }
  return plugins;
}

// Moves the fixes that the situation does not allow for the group's nearest row to `forbidden`.
void TakeForbidden(const Situation& at, const RowGroup& group, std::vector<Fix>& fixes,
                   std::vector<Fix>& forbidden) {
  const auto rest = std::ranges::stable_partition(
      fixes, [&](const Fix& fix) { return IsAllowedOn(at, fix, group.nearest); });
  std::ranges::move(rest, std::back_inserter(forbidden));
  fixes.erase(rest.begin(), rest.end());
}

// One fix for each plugin that rejects the group's nearest row.
std::vector<Proposal> ProposeForNearest(const Situation& at, const RowGroup& group,
                                        std::vector<Fix>& forbidden) {
  std::vector<Proposal> proposals;
  std::vector<std::vector<Fix>> alternatives;
  bool complete = true;
  for (const std::string& plugin : PluginsOf(group)) {
    alternatives.push_back(FixesFor(at, group, plugin));
    if (alternatives.back().empty() || alternatives.size() > kMostObstacles) return {};
    TakeForbidden(at, group, alternatives.back(), forbidden);
    complete &= !alternatives.back().empty();
  }
  if (alternatives.empty() || !complete) return {};
  if (alternatives.size() == 1) {
    for (Fix& fix : alternatives.front()) proposals.push_back({{std::move(fix)}});
    return proposals;
  }
  for (std::size_t variant = 0; variant < kVariants; ++variant) {
    Proposal proposal;
    for (const std::vector<Fix>& fixes : alternatives)
      proposal.Add(fixes[std::min(variant, fixes.size() - 1)]);
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}

// Changes of a node are proposed for the nearest row of those whose nodes may be changed in this way.
void ProposeForGroup(const Situation& at, RowGroup group, std::vector<Proposal>& proposals) {
  std::vector<Fix> forbidden;
  std::ranges::move(ProposeForNearest(at, group, forbidden), std::back_inserter(proposals));
  if (forbidden.empty()) return;
  FindNearest(at, group, [&](cluster::Row row) {
    return std::ranges::all_of(forbidden, [&](const Fix& fix) { return IsAllowedOn(at, fix, row); });
  });
  if (group.nearest == cluster::kNoRow) return;
  std::vector<Proposal> others = ProposeForNearest(at, group, forbidden);
  std::erase_if(others, [](const Proposal& proposal) { return !proposal.ChangesNode(); });
  std::ranges::move(others, std::back_inserter(proposals));
}

std::vector<Proposal> Propose(const Situation& at, const std::vector<RowGroup>& groups) {
  std::vector<Proposal> proposals;
  const std::size_t considered = std::min(groups.size(), kMostGroups);
  for (std::size_t i = 0; i < considered; ++i) ProposeForGroup(at, groups[i], proposals);
  for (std::size_t i = 0; i < std::min(considered, kNewNodes); ++i)
    proposals.push_back({{NodeLike(at, groups[i].nearest)}});
  std::set<std::vector<std::string>> seen;
  std::erase_if(proposals, [&](const Proposal& proposal) { return !seen.insert(proposal.Steps()).second; });
  std::ranges::stable_sort(proposals, {}, &Proposal::Effort);
  if (proposals.size() > kMostTrials) proposals.resize(kMostTrials);
  return proposals;
}

std::vector<std::string> NodesThatFit(assembly::PodEvaluator& evaluator,
                                      const record::AttemptRecord& record) {
  constexpr std::size_t kFew = 50;  // are sorted faster than all nodes are visited
  std::vector<std::string> names;
  if (record.result != record::Result::kScheduled) return names;
  if (record.feasible.Count() <= kFew) {
    record.feasible.ForEach([&](std::size_t row) { names.push_back(record.nodes->by_row[row]); });
    std::ranges::sort(names);
  } else {
    for (const cluster::Row row : evaluator.RowsByName()) {
      if (record.feasible.get().Has(row)) names.push_back(record.nodes->by_row[row]);
    }
  }
  return names;
}

// The pods of the names on the node.
std::vector<api::PodPtr> FindVictims(const cluster::NodeTable& nodes, const record::Nomination& nomination) {
  std::vector<api::PodPtr> victims;
  const cluster::Row row = nodes.Find(nomination.node);
  if (row == cluster::kNoRow) return victims;
  for (const cluster::PlacedPod* placed : nodes.pods(row)) {
    if (std::ranges::find(nomination.victims, placed->pod->metadata.Key()) != nomination.victims.end())
      victims.push_back(placed->pod);
  }
  return victims;
}

// The attempt of a changed pod that may evict others; nullopt: no preemption results.
std::optional<Advice> TryPreemption(assembly::PodEvaluator& evaluator, api::Pod changed, std::string step) {
  const auto pod = std::make_shared<const api::Pod>(std::move(changed));
  cluster::PodInfo info;
  const auto record = evaluator.Evaluate(pod, info);
  if (record->result != record::Result::kUnschedulable || !record->nomination) return std::nullopt;
  const record::Nomination& nomination = *record->nomination;
  const std::vector<api::PodPtr> victims =
      FindVictims(std::as_const(evaluator.engine()).cache().nodes(), nomination);
  Advice advice{.steps = {std::move(step)},
                .change = {.pod = pod},
                .nodes = FittingNodes(evaluator, pod, {.leaving = victims}),
                .victims = nomination.victims,
                .victims_node = nomination.node};
  if (std::ranges::find(advice.nodes, nomination.node) == advice.nodes.end()) return std::nullopt;
  return advice;
}

// Priorities just above those of pods on these nodes, ascending.
std::vector<std::int32_t> PrioritiesAbove(const cluster::NodeTable& nodes, const RowSet& rows,
                                          std::int32_t own) {
  std::set<std::int32_t> above;
  rows.ForEach([&](std::size_t row) {
    for (const cluster::PlacedPod* placed : nodes.pods(static_cast<cluster::Row>(row))) {
      const std::int32_t priority = placed->pod->spec.priority;
      if (priority >= own && priority < kHighestPriority) above.insert(priority + 1);
    }
  });
  return {above.begin(), above.end()};
}

// The lowest priority with which preemption makes room. Evictions do not help on nodes whose rejection is
// unresolvable.
std::optional<Advice> PriorityAdvice(assembly::PodEvaluator& evaluator, const api::Pod& pod,
                                     const record::AttemptRecord& rejected) {
  RowSet rows = rejected.all.get();
  rows -= rejected.unresolvable.get();
  if (rows.Empty()) return std::nullopt;
  const std::int32_t own = pod.spec.priority;
  if (pod.spec.never_preempts) {
    api::Pod changed = pod;
    changed.spec.never_preempts = false;
    return TryPreemption(evaluator, std::move(changed), "set preemptionPolicy to PreemptLowerPriority");
  }
  const auto attempt = [&](std::int32_t priority) {
    api::Pod changed = pod;
    changed.spec.priority = priority;
    return TryPreemption(
        evaluator, std::move(changed),
        fmt::format("use a priority class with a value of at least {} (now {})", priority, own));
  };
  const std::vector<std::int32_t> priorities =
      PrioritiesAbove(std::as_const(evaluator.engine()).cache().nodes(), rows, own);
  if (priorities.empty()) return std::nullopt;
  std::optional<Advice> best = attempt(priorities.back());
  std::size_t low = 0, high = priorities.size() - 1;  // works with `high`, if at all
  while (best && low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (auto lower = attempt(priorities[middle])) {
      best = std::move(lower);
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return best;
}

// Advice that needs all steps of another one, and more.
bool IsRedundant(const Advice& advice, const std::vector<RankedAdvice>& all) {
  return std::ranges::any_of(all, [&](const RankedAdvice& other) {
    if (other.advice.steps.size() >= advice.steps.size()) return false;
    return std::ranges::all_of(other.advice.steps, [&](const std::string& step) {
      return std::ranges::find(advice.steps, step) != advice.steps.end();
    });
  });
}

}  // namespace

std::vector<Advice> FindAdvice(assembly::PodEvaluator& evaluator, const Situation& at,
                               const std::vector<RowGroup>& groups, const record::AttemptRecord& attempt) {
  // All changes are built before the first one is applied: `at` is valid until then.
  std::vector<std::pair<Proposal, Change>> trials;
  for (Proposal& proposal : Propose(at, groups)) {
    Change change = Combine(at, at.pod.pod, proposal.fixes);
    trials.emplace_back(std::move(proposal), std::move(change));
  }
  std::vector<RankedAdvice> found;
  for (auto& [proposal, change] : trials) {
    std::vector<std::string> nodes = FittingNodes(evaluator, at.pod.pod, change);
    if (nodes.empty()) continue;
    found.push_back({{.steps = proposal.Steps(),
                      .change = std::move(change),
                      .nodes = std::move(nodes),
                      .names_node = proposal.NamesNode()},
                     proposal.Effort()});
  }
  if (!attempt.nomination) {
    if (auto advice = PriorityAdvice(evaluator, *at.pod.pod, attempt))
      found.push_back({std::move(*advice), kPriorityEffort});
  }
  std::ranges::stable_sort(found, {}, [](const RankedAdvice& one) {
    return std::pair(one.effort, -std::ssize(one.advice.nodes));
  });
  std::vector<RankedAdvice*> kept;
  for (RankedAdvice& one : found) {
    if (kept.size() < kMostAdvice && !IsRedundant(one.advice, found)) kept.push_back(&one);
  }
  std::vector<Advice> advice;
  for (RankedAdvice* one : kept) advice.push_back(std::move(one->advice));
  return advice;
}

std::vector<Advice> AdviceForPod(assembly::PodEvaluator& evaluator, const Situation& at) {
  Proposal proposal;
  for (Fix& fix : FixesForPod(at)) proposal.Add(std::move(fix));
  if (proposal.fixes.empty()) return {};
  Advice advice{.steps = proposal.Steps(), .change = Combine(at, at.pod.pod, proposal.fixes), .nodes = {}};
  advice.nodes = FittingNodes(evaluator, at.pod.pod, advice.change);
  if (advice.nodes.empty()) return {};
  return {std::move(advice)};
}

std::vector<Advice> AdviceToAdmit(assembly::PodEvaluator& evaluator, const api::PodPtr& pod) {
  api::Pod changed = *pod;
  std::string step;
  if (evaluator.engine().FindProfile(pod->spec.scheduler_name) == nullptr) {
    if (evaluator.engine().profiles().empty()) return {};
    const std::string& name = evaluator.engine().profiles().front()->name();
    step = fmt::format("set schedulerName to {}, unless a scheduler named {} runs", name,
                       pod->spec.scheduler_name.str());
    changed.spec.scheduler_name = name;
  } else if (!pod->spec.scheduling_gates.empty()) {
    const bool one = pod->spec.scheduling_gates.size() == 1;
    step = fmt::format("remove the scheduling {} {}", one ? "gate" : "gates",
                       fmt::join(std::as_const(pod->spec.scheduling_gates), ", "));
    changed.spec.scheduling_gates.clear();
  } else {
    return AdviceToCompleteGroup(evaluator, pod);
  }
  Advice advice{
      .steps = {step}, .change = {.pod = std::make_shared<const api::Pod>(std::move(changed))}, .nodes = {}};
  advice.nodes = FittingNodes(evaluator, pod, advice.change);
  if (advice.nodes.empty()) return {};
  return {std::move(advice)};
}

std::vector<std::string> FittingNodes(assembly::PodEvaluator& evaluator, const api::PodPtr& pod,
                                      const Change& change) {
  const AppliedChange applied(evaluator.engine().cache(), change);
  return NodesThatFit(evaluator, *evaluator.EvaluateFit(change.pod == nullptr ? pod : change.pod));
}

}  // namespace berth::explanation
