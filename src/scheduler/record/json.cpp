#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>

#include "base/json_text.hpp"
#include "scheduler/record/attempt_record.hpp"

namespace berth::record {
namespace {

class Writer {
 public:
  void Key(std::string_view key) {
    if (out_.back() != '{') out_ += ',';
    AppendJsonString(out_, key);
    out_ += ':';
  }
  void Text(std::string_view key, std::string_view value) {
    Key(key);
    AppendJsonString(out_, value);
  }
  void Number(std::string_view key, std::int64_t value) {
    Key(key);
    fmt::format_to(std::back_inserter(out_), "{}", value);
  }
  void List(std::string_view key, const std::vector<std::string>& values) {
    Key(key);
    AppendJsonStrings(out_, values);
  }
  // With one decimal place; NaN is null.
  void Decimal(std::string_view key, double value) {
    Key(key);
    std::isnan(value) ? fmt::format_to(std::back_inserter(out_), "null")
                      : fmt::format_to(std::back_inserter(out_), "{:.1f}", value);
  }
  void Raw(char c) { out_ += c; }
  char last() const { return out_.back(); }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_ = "{";
};

// {"LoadAware":{"cpu":{"load":41.3,"estimated":2.5,"score":58.7,"weight":2}}}
void WriteParts(const AttemptRecord& record, std::uint32_t row, Writer& out) {
  const auto has_parts = [](const ScoreSnapshot::OfPlugin& plugin) { return !plugin.parts().empty(); };
  if (std::ranges::none_of(record.scores.plugins(), has_parts)) return;
  out.Key("parts");
  out.Raw('{');
  for (const ScoreSnapshot::OfPlugin& plugin : record.scores.plugins()) {
    if (!has_parts(plugin)) continue;
    out.Key(plugin.plugin());
    out.Raw('{');
    for (const framework::ScorePart& part : plugin.parts()) {
      out.Key(part.name);
      out.Raw('{');
      out.Decimal("load", part.load[row]);
      out.Decimal("estimated", part.estimated[row]);
      out.Decimal("score", part.score[row]);
      out.Number("weight", part.weight);
      if (!part.note.empty()) out.Text("note", part.note);
      out.Raw('}');
    }
    out.Raw('}');
  }
  out.Raw('}');
}

void WriteScores(const AttemptRecord& record, std::uint32_t row, Writer& out) {
  out.Key("scores");
  out.Raw('{');
  for (const ScoreSnapshot::OfPlugin& plugin : record.scores.plugins())
    out.Number(plugin.plugin(), plugin.weight() * plugin[row]);
  out.Raw('}');
  if (!record.extenders.scores.empty()) {
    std::map<std::string_view, std::int64_t> contributions;  // summed if several extenders have the same URL
    for (const ExtenderShare::Scores& extender : record.extenders.scores)
      contributions[extender.extender] += extender.values[row];
    out.Key("extenders");
    out.Raw('{');
    for (const auto& [extender, contribution] : contributions) out.Number(extender, contribution);
    out.Raw('}');
  }
  out.Number("total", record.Total(row));
  WriteParts(record, row, out);
}

void WriteNode(const AttemptRecord& record, std::uint32_t row, const framework::Reasons& reasons,
               bool details, Writer& out) {
  if (out.last() != '[') out.Raw(',');
  out.Raw('{');
  out.Text("name", record.nodes->by_row[row]);
  const auto rejected = [&](std::string_view code, std::string_view plugin,
                            const std::vector<std::string>& texts) {
    out.Text("code", code);
    out.Text("plugin", plugin);
    out.List("reasons", texts);
  };
  if (record.pre_filter) {
    rejected(CodeName(record.pre_filter->code), record.pre_filter->plugin, record.pre_filter->reasons);
  } else if (record.excluded.Has(row)) {
    rejected(CodeName(framework::Code::kUnschedulableAndUnresolvable), record.excluding_plugins,
             {record.exclusion_reason});
  } else if (record.feasible.Has(row)) {
    out.Text("code", CodeName(framework::Code::kSuccess));
    if (record.scored) WriteScores(record, row, out);
  } else {
    std::string_view plugin;
    const auto texts = record.ReasonsOf(row, reasons, plugin);
    // A node without a reason is feasible and not in the sample. Or the search ended at the pod's nominated
    // node, so the evaluation error of this node had no effect.
    if (texts.empty()) {
      out.Text("code", CodeName(record.sampled ? framework::Code::kSuccess : framework::Code::kError));
      return out.Raw('}');
    }
    const auto code = record.unresolvable.Has(row) ? framework::Code::kUnschedulableAndUnresolvable
                                                   : framework::Code::kUnschedulable;
    rejected(CodeName(code), plugin, texts);
    const std::vector<std::string>* lines = details ? record.DetailsOf(row) : nullptr;
    if (lines != nullptr) out.List("details", *lines);
  }
  out.Raw('}');
}

std::vector<std::uint32_t> RowsByName(const RowSet& rows, const NodeNames& names) {
  std::vector<std::uint32_t> sorted;
  rows.ForEach([&](std::size_t row) { sorted.push_back(static_cast<std::uint32_t>(row)); });
  std::ranges::sort(sorted, {}, [&](std::uint32_t row) -> const std::string& { return names.by_row[row]; });
  return sorted;
}

std::vector<std::string> NamesOf(const RowSet& rows, const NodeNames& names) {
  std::vector<std::string> sorted;
  for (const std::uint32_t row : RowsByName(rows, names)) sorted.push_back(names.by_row[row]);
  return sorted;
}

// The members of the object.
void WriteGroup(const GroupRecord& group, Writer& out) {
  const auto number = [&](std::string_view key, std::size_t value) {
    out.Number(key, static_cast<std::int64_t>(value));
  };
  out.Text("name", group.group);
  out.Text("result", ResultName(group.result));
  if (group.result != Result::kScheduled) out.Text("message", group.message);
  out.Number("minCount", group.min_count);
  number("scheduled", group.scheduled);
  number("pending", group.pending);
  number("placed", group.placed);
  number("failed", group.failed);
  number("notTried", group.not_tried);
  if (!group.failures.empty()) {
    out.Key("failures");
    out.Raw('[');
    for (const GroupRecord::Failure& failure : group.failures) {
      if (out.last() != '[') out.Raw(',');
      out.Raw('{');
      out.Text("pod", failure.pod);
      out.Text("message", failure.message);
      out.Raw('}');
    }
    out.Raw(']');
  }
  if (group.placement) {
    out.Key("placement");
    out.Raw('{');
    if (!group.placement->name.empty()) out.Text("name", group.placement->name);
    number("evaluated", group.placement->evaluated);
    number("feasible", group.placement->feasible);
    out.Raw('}');
  }
  if (group.waits_for_evictions) out.List("victims", group.victims);
}

}  // namespace

std::string ToJson(const AttemptRecord& record, const framework::Reasons& reasons, bool details) {
  Writer out;
  out.Text("pod", record.pod);
  out.Text("schedulerName", record.scheduler_name);
  out.Text("result", ResultName(record.result));
  if (record.result != Result::kScheduled && record.result != Result::kIgnored)
    out.Text("message", record.message);
  if (record.result == Result::kScheduled) {
    out.Text("node", record.nodes->by_row[record.node]);
    out.List("bestNodes", NamesOf(record.Best(), *record.nodes));
  }
  if (record.pre_filter) {
    out.Key("preFilter");
    out.Raw('{');
    out.Text("code", CodeName(record.pre_filter->code));
    out.Text("plugin", record.pre_filter->plugin);
    out.List("reasons", record.pre_filter->reasons);
    out.Raw('}');
  }
  if (record.result == Result::kScheduled || record.result == Result::kUnschedulable) {
    out.Key("nodes");
    out.Raw('[');
    if (record.nodes) {
      for (const std::uint32_t row : RowsByName(record.all, *record.nodes))
        WriteNode(record, row, reasons, details, out);
    }
    out.Raw(']');
  }
  if (record.nomination) {
    out.Key("nomination");
    out.Raw('{');
    out.Text("node", record.nomination->node);
    out.List("victims", record.nomination->victims);
    out.List("choices", NamesOf(record.nomination->choices, *record.nodes));
    out.Raw('}');
  }
  if (!record.extenders.errors.empty()) {
    out.Key("extenderErrors");
    out.Raw('[');
    for (const ExtenderShare::ExtenderError& error : record.extenders.errors) {
      if (out.last() != '[') out.Raw(',');
      out.Raw('{');
      out.Text("extender", error.extender);
      out.Text("verb", error.verb);
      out.Text("error", error.error);
      out.Raw('}');
    }
    out.Raw(']');
  }
  if (record.group != nullptr) {
    out.Key("group");
    out.Raw('{');
    WriteGroup(*record.group, out);
    out.Raw('}');
  }
  out.Raw('}');
  return out.Take();
}

std::string ToJson(const GroupRecord& group) {
  Writer out;
  WriteGroup(group, out);
  out.Raw('}');
  return out.Take();
}

}  // namespace berth::record
