// The compact record of one attempt to schedule one pod. Event text, `berth explain` and JSON are views of
// it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/shared_rows.hpp"
#include "kubernetes/api/cow_ptr.hpp"
#include "scheduler/cluster/symbol_table.hpp"
#include "scheduler/framework/rejection_details.hpp"
#include "scheduler/framework/verdicts.hpp"
#include "scheduler/record/group_record.hpp"
#include "scheduler/record/score_history.hpp"

namespace berth {
class JsonObject;  // base/json_text.hpp
}

namespace berth::record {

enum class Result : std::uint8_t { kScheduled, kUnschedulable, kError, kGated, kIgnored };
std::string_view ResultName(Result result);  // "scheduled", ...

// Rows that one plugin rejected for one reason.
struct Rejection {
  std::string_view plugin;
  framework::ReasonId reason;
  SharedRows rows;
};

// Rejections by one plugin with texts that differ from row to row.
struct PluginReasons {
  std::string_view plugin;
  framework::RowReasons reasons;
};

// PreFilter rejected the pod as a whole.
struct PreFilterRejection {
  framework::Code code = framework::Code::kUnschedulable;
  std::string plugin;
  std::vector<std::string> reasons;
};

// The result of preemption: the nominated node and the pods to evict.
struct Nomination {
  std::string node;
  std::vector<std::string> victims;  // "namespace/name", sorted
  RowSet choices;                    // equally good nodes, including `node`
};

// Why nodes are no candidates of preemption.
struct PreemptionRefusal {
  std::string reason;
  std::size_t nodes = 0;
};

// The extenders' part in the attempt.
struct ExtenderShare {
  // Nodes that an extender removed without a reason. kube-scheduler has no status for them: they are not in
  // the message, except as excluded by PreFilter if it limits the nodes, and not considered for preemption.
  struct SilentRemoval {
    std::string extender;
    RowSet rows;
  };
  // An extender's contribution to the totals.
  struct Scores {
    std::string extender;
    std::vector<std::int64_t> values;  // by row
  };
  // An error that did not end the attempt.
  struct ExtenderError {
    std::string extender;
    std::string verb;
    std::string error;
  };
  api::CowList<SilentRemoval> silent;
  api::CowList<std::string> unknown_node_reasons;  // reasons for nodes that do not exist in the cluster
  api::CowList<Scores> scores;
  api::CowList<ExtenderError> errors;
};

// Node names by row at the time of the attempt; shared by records until a node is added or removed.
struct NodeNames {
  std::vector<std::string> by_row;  // empty: no node at this row
  SharedRows rows = {};             // rows with a node
};

// Plugin names refer to the strings of Plugin::Name(), scheduler names to those of the handle. Thousands of
// records are kept, most of them of pods that were scheduled in one attempt: absent parts cost one pointer,
// and identical pods share their rejections.
struct AttemptRecord {
  std::string pod;
  std::string_view scheduler_name;
  Result result = Result::kError;
  std::string message;

  std::shared_ptr<const NodeNames> nodes;
  SharedRows all;  // rows with a node
  SharedRows feasible;
  // percentageOfNodesToScore is in effect: `feasible` is only a part of the rows that passed the filters.
  bool sampled = false;
  api::CowList<Rejection> rejections;       // in profile order; per row only the first rejecting plugin
  api::CowList<PluginReasons> row_reasons;  // likewise
  api::CowList<framework::RejectionDetail> details;  // for explanations only
  SharedRows unresolvable;
  api::CowPtr<PreFilterRejection> pre_filter;
  // Nodes excluded by PreFilter's node names: all have the same reason; the plugins are joined by ','.
  SharedRows excluded;
  std::string excluding_plugins;
  std::string exclusion_reason;

  ExtenderShare extenders;
  std::string post_filter;  // message of the PostFilter plugins
  api::CowPtr<Nomination> nomination;
  api::CowList<PreemptionRefusal> preemption_refusals;  // for explanations only

  bool scored = false;
  std::int64_t base_total = 0;  // 1 in profiles without score plugins
  ScoreSnapshot scores;         // sorted by plugin
  SharedRows best;              // rows with the highest total; empty: computed by Best()
  std::uint32_t node = 0;       // kScheduled: the selected row

  // Of a member of a pod group, shared by the records of its members; null: the pod was scheduled on its own.
  std::shared_ptr<const GroupRecord> group;

  // The selected node; empty unless kScheduled. Valid as long as the record.
  std::string_view SelectedNode() const;
  // Whether the attempt could have selected this node: it is one of the best. Empty: whether it selected
  // none.
  bool CouldSelect(std::string_view node_name) const;
  std::int64_t Total(std::uint32_t row) const;
  RowSet Best() const;
  // The first `most` feasible rows: the selected row, then by descending total, then by name. Requires
  // `scored`.
  std::vector<std::uint32_t> Ranked(std::size_t most) const;
  // Calls visit(plugin, text, const RowSet&) for each reason with its rows.
  template <class Visit>
  void ForEachReason(const framework::Reasons& reasons, Visit&& visit) const {
    for (const Rejection& rejection : rejections)
      visit(rejection.plugin, reasons.Text(rejection.reason), rejection.rows);
    for (const PluginReasons& part : row_reasons) {
      std::vector<RowSet> rows(part.reasons.texts.size());
      for (const auto& [row, text] : part.reasons.rows) rows[text].Add(row);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (!rows[i].Empty()) visit(part.plugin, part.reasons.texts[i], rows[i]);
      }
    }
  }
  // The reasons of this row in their order; sets `plugin` to the plugin that returned them.
  std::vector<std::string> ReasonsOf(std::uint32_t row, const framework::Reasons& reasons,
                                     std::string_view& plugin) const;
  // The details of the rejection of this row; null: there are none.
  const std::vector<std::string>* DetailsOf(std::uint32_t row) const;
  // The approximate memory use in bytes.
  std::size_t Bytes() const;
};

// The FailedScheduling message: "0/5 nodes are available: 2 ..., 3 .... preemption: ..."
std::string FitErrorMessage(const AttemptRecord& record, const framework::Reasons& reasons);

// The decision record as one line of JSON without newline; byte for byte the output of `berth explain -o
// json`. With `details` the nodes also have the details of rejections.
std::string ToJson(const AttemptRecord& record, const framework::Reasons& reasons, bool details = false);
// The part "group" of the records of its members.
std::string ToJson(const GroupRecord& group);
// Parts of this part. The group with its result, its condition's message, and numbers of members:
void AddMemberCounts(JsonObject& object, const GroupRecord& group);
// The members that found no node ("failures"); nothing if there are none.
void AddMemberFailures(JsonObject& object, const GroupRecord& group);
// The groups of its tree ("tree"); nothing if it is in none.
void AddTree(JsonObject& object, const GroupRecord& group);
// "starts", "fails", "incomplete" or "notTried".
std::string_view VerdictName(GroupTreeRecord::Verdict verdict);

}  // namespace berth::record
