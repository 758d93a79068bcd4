#include "tools/what_if/compare.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "scheduler/explanation/explain_pod.hpp"
#include "scheduler/record/attempt_record.hpp"

namespace berth::what_if {
namespace {

using RecordPtr = std::shared_ptr<const record::AttemptRecord>;

// The row of a node that fits; nullopt: it does not.
std::optional<std::uint32_t> FeasibleRow(const record::AttemptRecord& record, const std::string& node) {
  std::optional<std::uint32_t> found;
  if (record.nodes == nullptr || node.empty()) return found;
  record.feasible.ForEach([&](std::size_t row) {
    if (record.nodes->by_row[row] == node) found = static_cast<std::uint32_t>(row);
  });
  return found;
}

std::optional<std::int64_t> TotalOf(const record::AttemptRecord& record, const std::string& node) {
  const auto row = FeasibleRow(record, node);
  return row && record.scored ? std::optional(record.Total(*row)) : std::nullopt;
}

ChangedPlacement::Choice ChoiceOf(const record::AttemptRecord& record, const std::string& other) {
  ChangedPlacement::Choice choice;
  choice.node = record.SelectedNode();
  if (choice.node.empty()) {
    choice.failure = record.message;
  } else {
    choice.equal = record.scored ? record.Best().Count() : 1;
  }
  choice.own_total = TotalOf(record, choice.node);
  choice.other_total = TotalOf(record, other);
  return choice;
}

}  // namespace

Expected<Comparison> CompareConfigs(const assembly::ClusterContents& cluster,
                                    const config::SchedulerConfig& before,
                                    const config::SchedulerConfig& after, const runtime::Registry& plugins,
                                    ComparedPods pods, const std::atomic<bool>& stop,
                                    const std::function<void(std::size_t)>& progress) {
  std::vector<std::string> ignored;  // those of the scenario were printed
  BERTH_TRY(const auto first, assembly::FilledEngine::Build(before, plugins, cluster, ignored));
  BERTH_TRY(const auto second, assembly::FilledEngine::Build(after, plugins, cluster, ignored));
  Comparison comparison;
  std::vector<api::PodPtr> sorted = cluster.pods;
  std::ranges::sort(sorted, {}, [](const api::PodPtr& pod) { return pod->metadata.Key(); });
  for (const api::PodPtr& pod : sorted) {
    if (stop.load()) return Fail(ErrorCode::kCancelled, "interrupted");
    const bool bound = !pod->spec.node_name.empty();
    if (pod->terminal() || pod->metadata.deleting() || (bound && pods == ComparedPods::kPending)) continue;
    const RecordPtr a = explanation::EvaluatePod(first->evaluator(), pod);
    const RecordPtr b = explanation::EvaluatePod(second->evaluator(), pod);
    if (++comparison.pods % 1000 == 0) progress(comparison.pods);
    const std::string from(a->SelectedNode()), to(b->SelectedNode());
    const bool same = from.empty() || to.empty() ? from == to : b->CouldSelect(from) || a->CouldSelect(to);
    if (!same) {
      comparison.changed.push_back({.pod = pod->metadata.Key(),
                                    .owner = explanation::OwnerOf(*pod),
                                    .bound_to = pod->spec.node_name.str(),
                                    .before = ChoiceOf(*a, to),
                                    .after = ChoiceOf(*b, from)});
      continue;
    }
    const auto total = TotalOf(*a, from), other = TotalOf(*b, from);
    if (!total || !other || *total == *other) continue;
    ++comparison.other_totals;
    comparison.largest_difference = std::max(comparison.largest_difference, std::abs(*total - *other));
  }
  return comparison;
}

}  // namespace berth::what_if
