// Extenders in a scheduling attempt (kube-scheduler v1.37.1, findNodesThatPassExtenders and prioritizeNodes).
#include <algorithm>
#include <map>
#include <ranges>
#include <utility>

#include "base/wrap.hpp"
#include "observability/log/log.hpp"
#include "scheduler/algorithm/scheduling_algorithm.hpp"

namespace berth::algorithm {

using cluster::Row;
using extenders::FilterResult;
using record::AttemptRecord;
using record::Result;

namespace {

using NodeReason = FilterResult::NodeReason;

// The reasons that count: the last one of each node.
struct LastReasons {
  RowSet rows;
  std::vector<std::pair<Row, const NodeReason*>> by_row;  // in the order of the list
  std::map<std::string, std::string> of_unknown_nodes;    // by name, of nodes that the cluster does not have
};

// `among`: only these rows (null: all) and nodes that do not exist in the cluster.
LastReasons FindLast(const std::vector<NodeReason>& reasons, const cluster::NodeTable& nodes,
                     const RowSet* among) {
  LastReasons last;
  last.rows.Resize(nodes.rows());
  last.by_row.reserve(reasons.size());
  for (const NodeReason& reason : reasons | std::views::reverse) {
    const Row row = nodes.Find(reason.node);
    if (row == cluster::kNoRow) {
      last.of_unknown_nodes.try_emplace(reason.node, reason.reason);
    } else if (!last.rows.Has(row) && (among == nullptr || among->Has(row))) {
      last.rows.Add(row);
      last.by_row.emplace_back(row, &reason);
    }
  }
  std::ranges::reverse(last.by_row);
  return last;
}

// Nothing is said about these rows any more. Sets without them stay shared with other records.
void RemoveReasons(AttemptRecord& record, const RowSet& rows) {
  const auto is_removed = [&](std::size_t row) { return rows.Has(row); };
  for (record::Rejection& rejection : record.rejections) {
    if (rejection.rows.get().AnyOf(is_removed)) rejection.rows -= rows;
  }
  for (record::PluginReasons& part : record.row_reasons)
    std::erase_if(part.reasons.rows, [&](const auto& entry) { return is_removed(entry.first); });
  if (record.excluded.get().AnyOf(is_removed)) record.excluded -= rows;
}

// An extender may return reasons for any node, including nodes that it was not sent; its reason replaces the
// node's status. `among` as for FindLast. In one pass, because a response may have a reason for every node.
void RecordReasons(SchedulingContext& context, const std::vector<NodeReason>& reasons, const RowSet* among) {
  if (reasons.empty()) return;
  AttemptRecord& record = context.record();
  LastReasons last = FindLast(reasons, context.cluster.nodes, among);
  if (!last.by_row.empty()) {
    RemoveReasons(record, last.rows);
    if (record.row_reasons.empty() || record.row_reasons.back().plugin != extenders::kPluginName)
      record.row_reasons.push_back({extenders::kPluginName, {}});
  }
  RowSet& unresolvable = context.buffers.verdicts.unresolvable;
  for (const auto& [row, reason] : last.by_row) {
    record.row_reasons.back().reasons.Add(row, reason->reason);
    reason->unresolvable ? record.unresolvable.Add(row) : record.unresolvable.Remove(row);
    reason->unresolvable ? unresolvable.Add(row) : unresolvable.Remove(row);
  }
  for (auto& [node, why] : last.of_unknown_nodes)
    record.extenders.unknown_node_reasons.push_back(std::move(why));
}

}  // namespace

// An extender error for the nominated node only makes the search continue.
bool SchedulingAlgorithm::NominatedNodePassesExtenders(Context& context, const RowSet& alone) {
  FilterResult result =
      extenders_->Filter(context.pod, {context.cluster.nodes, context.cluster.visiting_order}, alone);
  context.nominated_reasons = std::move(result.reasons);
  if (result.error) {
    log::Error("Evaluation failed on nominated node",
               {{"pod", log::Value::Object(context.pod.key)},
                {"node", context.pod.pod->status.nominated_node_name.str()},
                {"err", *result.error}});
    return false;
  }
  return !result.left.Empty();
}

// Returns false if the decision is complete.
bool SchedulingAlgorithm::RunExtenderFilters(Context& context) {
  AttemptRecord& record = context.record();
  ScheduleResult& decision = context.result;
  FilterResult result = extenders_->Filter(
      context.pod, {context.cluster.nodes, context.cluster.visiting_order}, record.feasible);
  if (result.error) {
    record.result = Result::kError;
    record.message = *std::move(result.error);
    decision.nominate = "";
    return false;
  }
  // Plugins that rejected nodes stay in the list of rejectors even where an extender's reason replaces
  // theirs.
  RecordRejectors(context);
  if (!(record.feasible == result.left)) {
    decision.rejectors.emplace_back(extenders::kPluginName);
    std::ranges::sort(decision.rejectors);
  }
  RecordReasons(context, context.nominated_reasons, &record.feasible.get());
  RecordReasons(context, result.reasons, nullptr);
  for (FilterResult::Silent& silent : result.silent) {
    // A reason that an extender returned for such a row, even earlier, takes precedence.
    for (const record::PluginReasons& part : record.row_reasons) {
      for (const auto& [row, text] : part.reasons.rows) silent.rows.Remove(row);
    }
    record.unresolvable |= silent.rows;
    record.extenders.silent.push_back({std::move(silent.extender), std::move(silent.rows)});
  }
  RowSet unseen = context.buffers.verdicts.feasible;  // feasible, but not sampled
  unseen -= record.feasible;
  record.unresolvable |= unseen;
  record.feasible = std::move(result.left);
  if (record.feasible.Empty()) {
    context.no_fit = true;
    return false;
  }
  decision.rejectors.clear();
  decision.pending.clear();
  return true;
}

void SchedulingAlgorithm::AddContributions(Context& context, RowSet& preferred) {
  AttemptRecord& record = context.record();
  extenders::PrioritizeResult result = extenders_->Prioritize(
      context.pod, {context.cluster.nodes, context.cluster.visiting_order}, record.feasible);
  for (auto& part : result.parts) {
    record.feasible.ForEach([&](std::size_t row) {
      std::int64_t& total = context.buffers.totals[row];
      total = WrapAdd(total, part.contributions[row]);
    });
    record.extenders.scores.push_back({std::move(part.extender), std::move(part.contributions)});
  }
  preferred = std::move(result.answered);
}

}  // namespace berth::algorithm
