#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>

#include "base/json_text.hpp"
#include "scheduler/record/attempt_record.hpp"

namespace berth::record {
namespace {

// With one decimal place; NaN is null.
std::string Decimal(double value) { return std::isnan(value) ? "null" : fmt::format("{:.1f}", value); }

void AddNumber(JsonObject& object, std::string_view key, std::size_t value) {
  object.AddNumber(key, static_cast<std::int64_t>(value));
}

void AddList(JsonObject& object, std::string_view key, const std::vector<std::string>& values) {
  AppendJsonStrings(object.Key(key), values);
}

// {"LoadAware":{"cpu":{"load":41.3,"estimated":2.5,"score":58.7,"weight":2}}}
void AddParts(JsonObject& node, const AttemptRecord& record, std::uint32_t row) {
  const auto has_parts = [](const ScoreSnapshot::OfPlugin& plugin) { return !plugin.parts().empty(); };
  if (std::ranges::none_of(record.scores.plugins(), has_parts)) return;
  JsonObject parts(node.Key("parts"));
  for (const ScoreSnapshot::OfPlugin& plugin : record.scores.plugins()) {
    if (!has_parts(plugin)) continue;
    JsonObject of_plugin(parts.Key(plugin.plugin()));
    for (const framework::ScorePart& part : plugin.parts()) {
      JsonObject one(of_plugin.Key(part.name));
      one.AddRaw("load", Decimal(part.load[row])).AddRaw("estimated", Decimal(part.estimated[row]));
      one.AddRaw("score", Decimal(part.score[row])).AddNumber("weight", part.weight);
      one.AddUnlessEmpty("note", part.note);
    }
  }
}

void AddScores(JsonObject& node, const AttemptRecord& record, std::uint32_t row) {
  {
    JsonObject scores(node.Key("scores"));
    for (const ScoreSnapshot::OfPlugin& plugin : record.scores.plugins())
      scores.AddNumber(plugin.plugin(), plugin.weight() * plugin[row]);
  }
  if (!record.extenders.scores.empty()) {
    std::map<std::string_view, std::int64_t> contributions;  // summed if several extenders have the same URL
    for (const ExtenderShare::Scores& extender : record.extenders.scores)
      contributions[extender.extender] += extender.values[row];
    JsonObject extenders(node.Key("extenders"));
    for (const auto& [extender, contribution] : contributions) extenders.AddNumber(extender, contribution);
  }
  node.AddNumber("total", record.Total(row));
  AddParts(node, record, row);
}

void AppendNode(std::string& out, const AttemptRecord& record, std::uint32_t row,
                const framework::Reasons& reasons, bool details) {
  JsonObject node(out);
  node.Add("name", record.nodes->by_row[row]);
  const auto rejected = [&](std::string_view code, std::string_view plugin,
                            const std::vector<std::string>& texts) {
    node.Add("code", code).Add("plugin", plugin);
    AddList(node, "reasons", texts);
  };
  if (record.pre_filter) {
    rejected(CodeName(record.pre_filter->code), record.pre_filter->plugin, record.pre_filter->reasons);
  } else if (record.excluded.Has(row)) {
    rejected(CodeName(framework::Code::kUnschedulableAndUnresolvable), record.excluding_plugins,
             {record.exclusion_reason});
  } else if (record.feasible.Has(row)) {
    node.Add("code", CodeName(framework::Code::kSuccess));
    if (record.scored) AddScores(node, record, row);
  } else {
    std::string_view plugin;
    const auto texts = record.ReasonsOf(row, reasons, plugin);
    // A node without a reason is feasible and not in the sample. Or the search ended at the pod's nominated
    // node, so the evaluation error of this node had no effect.
    if (texts.empty()) {
      node.Add("code", CodeName(record.sampled ? framework::Code::kSuccess : framework::Code::kError));
      return;
    }
    const auto code = record.unresolvable.Has(row) ? framework::Code::kUnschedulableAndUnresolvable
                                                   : framework::Code::kUnschedulable;
    rejected(CodeName(code), plugin, texts);
    const std::vector<std::string>* lines = details ? record.DetailsOf(row) : nullptr;
    if (lines != nullptr) AddList(node, "details", *lines);
  }
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

void AddGroup(JsonObject& object, const GroupRecord& group) {
  AddMemberCounts(object, group);
  AddMemberFailures(object, group);
  if (group.placement) {
    JsonObject placement(object.Key("placement"));
    placement.AddUnlessEmpty("name", group.placement->name);
    AddNumber(placement, "evaluated", group.placement->evaluated);
    AddNumber(placement, "feasible", group.placement->feasible);
  }
  if (group.waits_for_evictions) AddList(object, "victims", group.victims);
  AddTree(object, group);
}

void AppendTreeGroup(std::string& text, const GroupTreeRecord::Group& group) {
  JsonObject object(text);
  object.Add("kind", group.composite ? "CompositePodGroup" : "PodGroup").Add("name", group.name);
  AddNumber(object, "level", group.level);
  object.Add("verdict", VerdictName(group.verdict));
  object.AddUnlessEmpty("message", group.message);
  object.AddNumber("minCount", group.min_count);
  AddNumber(object, "scheduled", group.scheduled);
  AddNumber(object, "pending", group.pending);
  AddNumber(object, "placed", group.placed);
  AddNumber(object, "failed", group.failed);
  AddNumber(object, "notTried", group.not_tried);
  if (group.reasons.empty()) return;
  AppendJsonList(object.Key("reasons"), group.reasons,
                 [](std::string& out, const GroupTreeRecord::Reason& reason) {
                   JsonObject one(out);
                   AddNumber(one, "members", reason.members);
                   one.Add("message", reason.message);
                 });
}

}  // namespace

std::string ToJson(const AttemptRecord& record, const framework::Reasons& reasons, bool details) {
  std::string out;
  JsonObject object(out);
  object.Add("pod", record.pod).Add("schedulerName", record.scheduler_name);
  object.Add("result", ResultName(record.result));
  if (record.result != Result::kScheduled && record.result != Result::kIgnored)
    object.Add("message", record.message);
  if (record.result == Result::kScheduled) {
    object.Add("node", record.SelectedNode());
    AddList(object, "bestNodes", NamesOf(record.Best(), *record.nodes));
  }
  if (record.pre_filter) {
    JsonObject pre_filter(object.Key("preFilter"));
    pre_filter.Add("code", CodeName(record.pre_filter->code)).Add("plugin", record.pre_filter->plugin);
    AddList(pre_filter, "reasons", record.pre_filter->reasons);
  }
  if (record.result == Result::kScheduled || record.result == Result::kUnschedulable) {
    const auto rows = record.nodes ? RowsByName(record.all, *record.nodes) : std::vector<std::uint32_t>();
    AppendJsonList(object.Key("nodes"), rows, [&](std::string& text, std::uint32_t row) {
      AppendNode(text, record, row, reasons, details);
    });
  }
  if (record.nomination) {
    JsonObject nomination(object.Key("nomination"));
    nomination.Add("node", record.nomination->node);
    AddList(nomination, "victims", record.nomination->victims);
    AddList(nomination, "choices", NamesOf(record.nomination->choices, *record.nodes));
  }
  if (!record.extenders.errors.empty()) {
    AppendJsonList(object.Key("extenderErrors"), record.extenders.errors,
                   [](std::string& text, const ExtenderShare::ExtenderError& error) {
                     JsonObject one(text);
                     one.Add("extender", error.extender).Add("verb", error.verb).Add("error", error.error);
                   });
  }
  if (record.group != nullptr) {
    JsonObject group(object.Key("group"));
    AddGroup(group, *record.group);
  }
  object.Close();
  return out;
}

std::string ToJson(const GroupRecord& group) {
  std::string out;
  JsonObject object(out);
  AddGroup(object, group);
  object.Close();
  return out;
}

void AddMemberCounts(JsonObject& object, const GroupRecord& group) {
  object.Add("name", group.group).Add("result", ResultName(group.result));
  if (group.result != Result::kScheduled) object.Add("message", group.message);
  object.AddNumber("minCount", group.min_count);
  AddNumber(object, "scheduled", group.scheduled);
  AddNumber(object, "pending", group.pending);
  AddNumber(object, "placed", group.placed);
  AddNumber(object, "failed", group.failed);
  AddNumber(object, "notTried", group.not_tried);
}

void AddMemberFailures(JsonObject& object, const GroupRecord& group) {
  if (group.failures.empty()) return;
  AppendJsonList(object.Key("failures"), group.failures,
                 [](std::string& text, const GroupRecord::Failure& failure) {
                   JsonObject one(text);
                   one.Add("pod", failure.pod).Add("message", failure.message);
                 });
}

void AddTree(JsonObject& object, const GroupRecord& group) {
  if (group.tree == nullptr) return;
  JsonObject tree(object.Key("tree"));
  tree.AddUnlessEmpty("failsAt", group.tree->fails_at);
  AppendJsonList(tree.Key("groups"), group.tree->groups, AppendTreeGroup);
  if (group.tree->more_groups > 0) AddNumber(tree, "moreGroups", group.tree->more_groups);
}

std::string_view VerdictName(GroupTreeRecord::Verdict verdict) {
  switch (verdict) {
    case GroupTreeRecord::Verdict::kStarts:
      return "starts";
    case GroupTreeRecord::Verdict::kFails:
      return "fails";
    case GroupTreeRecord::Verdict::kIncomplete:
      return "incomplete";
    case GroupTreeRecord::Verdict::kNotTried:
      break;
  }
  return "notTried";
}

}  // namespace berth::record
