#include "scheduler/explanation/preemption_preview.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "scheduler/cluster/eviction_budgets.hpp"
#include "scheduler/explanation/explain_pod.hpp"
#include "scheduler/framework/eviction_cost.hpp"

namespace berth::explanation {
namespace {

using Candidate = PreemptionPreview::Candidate;
using cluster::Row;
using framework::EvictionCost;

EvictionCost CostOf(const framework::Eviction& eviction) {
  return framework::CostOfEviction(
      eviction.violations, eviction.victims,
      [](const api::PodPtr& victim) -> std::int64_t { return victim->spec.priority; },
      [](const api::PodPtr& victim) {
        const std::int64_t start = victim->status.start_time;
        return start == 0 ? INT64_MAX : start;
      });
}

std::string DrawbackOf(const EvictionCost& cost, const EvictionCost& selected) {
  if (cost.violations > selected.violations) return "more victims violate a PodDisruptionBudget";
  if (cost.highest_priority > selected.highest_priority) return "a victim has a higher priority";
  if (cost.sum_of_priorities > selected.sum_of_priorities)
    return cost.victims > selected.victims ? "more victims"
                                           : "the priorities of the victims have a larger sum";
  if (cost.victims > selected.victims) return "more victims";
  if (cost.started_ago > selected.started_ago) return "its most important victim started earlier";
  return "";
}

struct Evaluated {
  Row row = cluster::kNoRow;
  EvictionCost cost;
  framework::Eviction eviction;
};

// Rows to evaluate, in this order.
std::vector<Row> RowsToTry(assembly::PodEvaluator& evaluator, const record::Nomination& nomination,
                           const RowSet& potential) {
  const assembly::Engine& engine = evaluator.engine();
  const Row selected = engine.cache().nodes().Find(nomination.node);
  const bool reviewed = !evaluator.engine().handle().preemption_reviewers.empty();
  const std::size_t most = reviewed ? 1 : kMostPreviewedNodes;
  std::vector<Row> rows{selected};
  const auto add = [&](auto&& wanted) {
    for (const Row row : evaluator.RowsByName()) {
      if (rows.size() >= most) return;
      if (row != selected && potential.Has(row) && wanted(row)) rows.push_back(row);
    }
  };
  add([&](Row row) { return nomination.choices.Has(row); });
  add([&](Row row) { return !nomination.choices.Has(row); });
  return rows;
}

Candidate Describe(const Evaluated& evaluated, const EvictionCost& selected, const cluster::NodeTable& nodes,
                   const cluster::EvictionBudgets& budgets) {
  const std::vector<api::PodPtr>& victims = evaluated.eviction.victims;
  Candidate candidate{.node = nodes.name(evaluated.row),
                      .victims = {},
                      .victim_count = victims.size(),
                      .violations = evaluated.eviction.violations,
                      .drawback = DrawbackOf(evaluated.cost, selected)};
  for (const api::PodPtr& victim : victims) {
    if (candidate.victims.size() == kMostPreviewedVictims) break;
    const auto room = budgets.For(*victim);
    candidate.victims.push_back({.pod = victim->metadata.Key(),
                                 .owner = OwnerOf(*victim),
                                 .priority = victim->spec.priority,
                                 .started = victim->status.start_time,
                                 .budget = room.budgets > 0 && room.left <= 0 ? room.name : ""});
  }
  return candidate;
}

}  // namespace

PreemptionPreview PreviewPreemption(assembly::PodEvaluator& evaluator, const api::PodPtr& pod,
                                    const record::AttemptRecord& record) {
  PreemptionPreview preview;
  for (const record::PreemptionRefusal& refusal : record.preemption_refusals)
    preview.refusals.push_back({refusal.reason, refusal.nodes});
  std::ranges::stable_sort(preview.refusals, std::greater<>{}, &PreemptionPreview::Refusal::nodes);
  if (!record.nomination) return preview;
  std::vector<Evaluated> found;
  evaluator.TryPreemption(pod, [&](const RowSet& potential, const algorithm::RunPostFilter& run) {
    const std::vector<Row> rows = RowsToTry(evaluator, *record.nomination, potential);
    preview.not_shown = potential.Count() - rows.size();
    for (const Row row : rows) {
      RowSet alone(evaluator.engine().cache().nodes().rows());
      alone.Add(row);
      framework::PostFilterResult result = run(alone);
      if (!result.eviction) continue;
      const EvictionCost cost = CostOf(*result.eviction);
      found.push_back({row, cost, *std::move(result.eviction)});
    }
  });
  if (found.empty()) return preview;
  std::ranges::stable_sort(found.begin() + 1, found.end(), {}, &Evaluated::cost);
  cluster::ClusterState& cache = evaluator.engine().cache();
  const cluster::EvictionBudgets budgets(cache.objects());
  for (const Evaluated& each : found)
    preview.candidates.push_back(Describe(each, found.front().cost, cache.nodes(), budgets));
  return preview;
}

}  // namespace berth::explanation
