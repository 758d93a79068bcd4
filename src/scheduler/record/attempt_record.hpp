// One pod, one attempt: everything that was found out, compactly. Event text, `berth explain` and JSON are
// views of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubernetes/api/cow_ptr.hpp"
#include "base/shared_rows.hpp"
#include "scheduler/framework/verdicts.hpp"
#include "scheduler/cluster/symbol_table.hpp"
#include "scheduler/record/score_history.hpp"

namespace berth::record {

enum class Result : std::uint8_t { kScheduled, kUnschedulable, kError, kGated, kIgnored };
std::string_view ResultName(Result result);  // "scheduled", ...

// Rows that one plugin rejected for one reason.
struct Rejection {
  std::string_view plugin;
  framework::ReasonId reason;
  SharedRows rows;
};

// The same where the words differ from row to row.
struct Spoken {
  std::string_view plugin;
  framework::SpokenReasons reasons;
};

// PreFilter said no to the pod as a whole.
struct PreFilterRejection {
  framework::Code code = framework::Code::kUnschedulable;
  std::string plugin;
  std::vector<std::string> reasons;
};

// Preemption found a node, and who has to go.
struct Nomination {
  std::string node;
  std::vector<std::string> victims;  // "namespace/name", sorted
  RowSet choices;                    // nodes that would have done as well; `node` is one of them
};

// What extenders had to do with it.
struct ExtenderShare {
  // Nodes that an extender left out without saying why. kube-scheduler has no status for them: they are not
  // in the message, and preemption leaves them alone.
  struct Silence {
    std::string extender;
    RowSet rows;
  };
  // An extender's part of the totals.
  struct Scores {
    std::string extender;
    std::vector<std::int64_t> values;  // by row
  };
  // A failure that did not end the attempt.
  struct ExtenderError {
    std::string extender;
    std::string verb;
    std::string error;
  };
  api::CowList<Silence> silent;
  api::CowList<std::string> strangers;  // why nodes were rejected that the cluster does not have
  api::CowList<Scores> scores;
  api::CowList<ExtenderError> errors;
};

// Rows as they were when the attempt was made; shared by all records made while no node came or went.
struct NodeNames {
  std::vector<std::string> by_row;  // empty: no node there
  SharedRows rows = {};             // with a node
};

// Names of plugins and of the scheduler are those of the profile, which outlives its records. Thousands are
// kept, most of them about pods that found a node at once: what those lack takes a pointer, and rejections
// are shared by pods that are alike.
struct AttemptRecord {
  std::string pod;
  std::string_view scheduler_name;
  Result result = Result::kError;
  std::string message;

  std::shared_ptr<const NodeNames> nodes;
  SharedRows all;  // rows with a node
  SharedRows feasible;
  api::CowList<Rejection> rejections;  // in the order of the plugins; per row the first plugin only
  api::CowList<Spoken> spoken;         // likewise
  SharedRows unresolvable;
  api::CowPtr<PreFilterRejection> pre_filter;
  // Nodes outside the names that PreFilter left: every reason is the one text, the plugins are joined by ','.
  SharedRows left_out;
  std::string left_out_plugins;
  std::string left_out_reason;

  ExtenderShare extenders;
  std::string post_filter;  // what the PostFilter plugins had to say
  api::CowPtr<Nomination> nomination;

  bool scored = false;
  std::int64_t base_total = 0;  // 1 in profiles without score plugins
  ScoreSnapshot scores;            // sorted by plugin
  SharedRows best;              // rows with the highest total; if empty, they are worked out by Best()
  std::uint32_t node = 0;       // kScheduled: the row chosen

  std::int64_t Total(std::uint32_t row) const;
  RowSet Best() const;
  // Every reason with the rows it is about, as sets: visit(plugin, text, const RowSet&).
  template <class Visit>
  void ForEachReason(const framework::Reasons& reasons, Visit&& visit) const {
    for (const Rejection& rejection : rejections)
      visit(rejection.plugin, reasons.Text(rejection.reason), rejection.rows);
    for (const Spoken& part : spoken) {
      std::vector<RowSet> rows(part.reasons.texts.size());
      for (const auto& [row, text] : part.reasons.rows) rows[text].Add(row);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (!rows[i].Empty()) visit(part.plugin, part.reasons.texts[i], rows[i]);
      }
    }
  }
  // Why this row, in the order in which it was said; `plugin` is told who.
  std::vector<std::string> ReasonsOf(std::uint32_t row, const framework::Reasons& reasons,
                                     std::string_view& plugin) const;
  // Roughly what the record takes in memory.
  std::size_t Bytes() const;
};

// The FailedScheduling text: "0/5 nodes are available: 2 ..., 3 .... preemption: ..."
std::string FitErrorMessage(const AttemptRecord& record, const framework::Reasons& reasons);

// The decision record as one line of JSON, without newline; byte for byte the form that `berth explain -o
// json` prints.
std::string ToJson(const AttemptRecord& record, const framework::Reasons& reasons);

}  // namespace berth::record
