#include "tools/explain/explanation_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/name_ranges.hpp"
#include "base/text_layout.hpp"
#include "kubernetes/api/timestamp.hpp"

namespace berth::explain {
namespace {

using cluster::Row;
using explanation::Advice;
using explanation::Explanation;
using explanation::GroupExplanation;
using explanation::NodeGroup;
using TreeGroup = record::GroupTreeRecord::Group;
using TreeVerdictKind = record::GroupTreeRecord::Verdict;
using explanation::Reason;
using record::AttemptRecord;
using record::Result;

// Of a group that are named in each list, without -o wide.
constexpr std::size_t kMostMembers = 8;

// Escape sequences; without colour the texts are unchanged.
class Style {
 public:
  explicit Style(bool colour) : colour_(colour) {}
  std::string Bold(const std::string& text) const { return Wrap("1", text); }
  std::string Good(const std::string& text) const { return Wrap("32", text); }
  std::string Bad(const std::string& text) const { return Wrap("31", text); }

 private:
  std::string Wrap(std::string_view code, const std::string& text) const {
    return colour_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }
  bool colour_;
};

// The text as a line, wrapped to the width.
std::string Line(std::size_t indent, std::string_view text, const TextOptions& options) {
  std::string line(indent, ' ');
  AppendWrapped(line, text, indent, options.width == 0 ? SIZE_MAX : std::max(options.width, indent + 20));
  return line + "\n";
}

std::string Fit(const AttemptRecord& record) {
  const std::size_t all = record.all.Count();
  return fmt::format("{} of {} {}", WithCommas(record.feasible.Count()), Counted(all, "node"),
                     record.feasible.Count() == 1 ? "fits" : "fit");
}

const std::string& Name(const AttemptRecord& record, std::size_t row) { return record.nodes->by_row[row]; }

std::vector<Row> Sorted(const AttemptRecord& record, const RowSet& rows) {
  std::vector<Row> sorted;
  rows.ForEach([&](std::size_t row) { sorted.push_back(static_cast<Row>(row)); });
  std::ranges::sort(sorted, {}, [&](Row row) -> const std::string& { return Name(record, row); });
  return sorted;
}

// What follows the name of a pod without a node.
std::string Verdict(const Explanation& explanation, const Style& style) {
  const AttemptRecord& record = *explanation.record;
  switch (record.result) {
    case Result::kScheduled: {
      const std::size_t equals = record.Best().Count();
      std::string text = style.Good("goes to " + Name(record, record.node));
      if (record.scored) text += fmt::format(" (total {})", record.Total(record.node));
      if (equals > 1) text += fmt::format(", one of {} equally good nodes", equals);
      return text + "; " + Fit(record);
    }
    case Result::kUnschedulable:
      if (record.all.Empty()) return style.Bad("waits") + ": the cluster has no nodes";
      if (!explanation.pod_reasons.empty()) return style.Bad("waits") + ": rejected whatever the node";
      return style.Bad("waits") + ": " + Fit(record);
    case Result::kError:
      return style.Bad("cannot be evaluated") + ": " + record.message;
    case Result::kGated:
      return style.Bad("is gated") + ": " + record.message;
    case Result::kIgnored:
      return style.Bad("is not scheduled here") + ": " + record.message;
  }
  return "";
}

// What follows the name of a pod with a node: whether the same node would be chosen again.
std::string BoundVerdict(const Explanation& explanation, const Style& style) {
  const AttemptRecord& record = *explanation.record;
  const std::string& node = explanation.bound_to;
  std::string text = style.Good("is on " + node);
  if (record.result == Result::kScheduled) {
    const RowSet best = record.Best();
    const bool again = best.AnyOf([&](std::size_t row) { return Name(record, row) == node; });
    const bool fits = record.feasible.get().AnyOf([&](std::size_t row) { return Name(record, row) == node; });
    if (again) return text + fmt::format("; evaluated again, that is a best node; {}", Fit(record));
    text += fmt::format("; evaluated again, {} would be chosen", Name(record, record.node));
    return text + fmt::format(", {}; {}",
                              fits ? "its own node fits, too" : "its own node does not fit any more",
                              Fit(record));
  }
  if (record.result == Result::kUnschedulable) return text + "; evaluated again, no node fits";
  return text + "; evaluated again, it " + Verdict(explanation, style);
}

std::vector<Row> Best(const AttemptRecord& record, std::size_t most) {
  std::vector<Row> rows = Sorted(record, record.feasible);
  std::ranges::stable_sort(rows, std::greater<>{}, [&](Row row) { return record.Total(row); });
  rows.resize(std::min(rows.size(), most));
  return rows;
}

// The components of a score: per node the load and the score of each.
std::string PartsOf(const record::ScoreSnapshot::OfPlugin& plugin, const AttemptRecord& record,
                    const std::vector<Row>& rows, std::size_t width) {
  if (plugin.parts().empty()) return "";
  const auto title = [](const framework::ScorePart& part) {
    return part.weight == 1 ? part.name : fmt::format("{} x{}", part.name, part.weight);
  };
  constexpr std::size_t kColumn = 14;  // "41.3% -> 58.7"
  std::string text = fmt::format("  {} consists of\n    {:<{}}", plugin.plugin(), "node", width);
  for (const framework::ScorePart& part : plugin.parts())
    text += fmt::format("  {:>{}}", title(part), kColumn);
  text += '\n';
  for (const Row row : rows) {
    text += fmt::format("    {:<{}}", Name(record, row), width);
    for (const framework::ScorePart& part : plugin.parts()) {
      const std::string load =
          std::isnan(part.load[row]) ? "unknown" : fmt::format("{:.1f}%", part.load[row]);
      text += fmt::format("  {:>{}}", fmt::format("{} -> {:.1f}", load, part.score[row]),
                          std::max(kColumn, title(part).size()));
    }
    text += '\n';
  }
  for (const framework::ScorePart& part : plugin.parts()) {
    if (!part.note.empty()) text += fmt::format("    {}: {}\n", part.name, part.note);
  }
  return text;
}

std::string BestNodes(const AttemptRecord& record, std::size_t most) {
  if (!record.scored) return "";
  const std::vector<Row> rows = Best(record, most);
  std::size_t width = 4;
  for (const Row row : rows) width = std::max(width, Name(record, row).size());
  std::string text = fmt::format("  best nodes\n    {:<{}}  {:>6}", "node", width, "total");
  for (const auto& plugin : record.scores.plugins()) {
    text += fmt::format("  {}{}", plugin.plugin(),
                        plugin.weight() == 1 ? "" : fmt::format(" x{}", plugin.weight()));
  }
  for (const auto& extender : record.extenders.scores) text += "  " + extender.extender;
  text += '\n';
  for (const Row row : rows) {
    text += fmt::format("    {:<{}}  {:>6}", Name(record, row), width, record.Total(row));
    for (const auto& plugin : record.scores.plugins()) {
      const std::size_t column =
          plugin.plugin().size() + (plugin.weight() == 1 ? 0 : fmt::format(" x{}", plugin.weight()).size());
      text += fmt::format("  {:>{}}", plugin.weight() * plugin[row], column);
    }
    for (const auto& extender : record.extenders.scores)
      text += fmt::format("  {:>{}}", extender.values[row], extender.extender.size());
    text += '\n';
  }
  for (const auto& plugin : record.scores.plugins()) text += PartsOf(plugin, record, rows, width);
  return text;
}

// Extender errors without effect on the result.
std::string ExtenderTroubles(const AttemptRecord& record) {
  std::string text;
  for (const auto& error : record.extenders.errors) {
    text += fmt::format("{}    {}, {}: {}\n", text.empty() ? "  extender errors\n" : "", error.extender,
                        error.verb, error.error);
  }
  return text;
}

std::string ReasonLines(const Reason& reason, const TextOptions& options) {
  std::string text = Line(4, fmt::format("{} [{}]", reason.text, reason.plugin), options);
  for (const std::string& value : reason.values) text += Line(6, value, options);
  return text;
}

// The nodes that do not fit, the closest first.
std::string NodeGroups(const Explanation& explanation, const TextOptions& options) {
  std::string text;
  const Style style(options.colour);
  const std::size_t shown =
      options.wide ? explanation.groups.size() : std::min(explanation.groups.size(), options.groups);
  for (std::size_t i = 0; i < shown; ++i) {
    const NodeGroup& group = explanation.groups[i];
    text +=
        Line(2, style.Bold(Counted(group.nodes.size(), "node")) + ": " + NameRanges(group.nodes), options);
    for (const Reason& reason : group.reasons) text += ReasonLines(reason, options);
    if (group.reasons.empty()) text += Line(4, "kept free for pods that are nominated to it", options);
  }
  std::size_t others = 0;
  for (std::size_t i = shown; i < explanation.groups.size(); ++i)
    others += explanation.groups[i].nodes.size();
  if (others > 0)
    text +=
        Line(2, fmt::format("{} with more obstacles; -o wide lists them", Counted(others, "further node")),
             options);
  return text;
}

// The pods to evict and the node.
std::string Nomination(const Explanation& explanation, const TextOptions& options) {
  if (!explanation.record->nomination) return "";
  const record::Nomination& found = *explanation.record->nomination;
  std::string line = fmt::format("preemption: evicts {}, then the pod fits on {}",
                                 fmt::join(found.victims, ", "), found.node);
  if (found.choices.HasMoreThan(1))
    line += fmt::format("; {} other nodes would be as good", found.choices.Count() - 1);
  return Line(2, line, options);
}

std::string VictimLine(const explanation::PreemptionPreview::Victim& victim) {
  std::string line = victim.pod;
  if (!victim.owner.empty()) line += fmt::format(" ({})", victim.owner);
  line += fmt::format(", priority {}", victim.priority);
  line += victim.started == 0 ? ", not started" : ", started " + api::FormatTimestamp(victim.started);
  if (!victim.budget.empty())
    line += fmt::format(", PodDisruptionBudget {} allows no disruption", victim.budget);
  return line;
}

// What preemption would evict on each node, the selected one first, and what it must not evict.
std::string PreemptionLines(const Explanation& explanation, const TextOptions& options) {
  const explanation::PreemptionPreview& preview = explanation.preemption;
  if (preview.empty()) return "";
  std::string text = "  preemption, node by node\n";
  for (std::size_t i = 0; i < preview.candidates.size(); ++i) {
    const explanation::PreemptionPreview::Candidate& candidate = preview.candidates[i];
    std::string line = fmt::format("{}: evicts {}", candidate.node, Counted(candidate.victim_count, "pod"));
    if (candidate.violations > 0)
      line += fmt::format(", {} of them against a PodDisruptionBudget", candidate.violations);
    line += i == 0                       ? "; selected"
            : candidate.drawback.empty() ? "; equally good"
                                         : "; not selected: " + candidate.drawback;
    text += Line(4, line, options);
    for (const explanation::PreemptionPreview::Victim& victim : candidate.victims)
      text += Line(6, VictimLine(victim), options);
    if (candidate.victim_count > candidate.victims.size())
      text += Line(6, fmt::format("and {} more", candidate.victim_count - candidate.victims.size()), options);
  }
  if (preview.not_shown > 0)
    text += Line(4, Counted(preview.not_shown, "further node") + " not listed", options);
  for (const explanation::PreemptionPreview::Refusal& refusal : preview.refusals)
    text +=
        Line(4, fmt::format("no candidate: {}: {}", Counted(refusal.nodes, "node"), refusal.reason), options);
  return text;
}

std::string AdviceLines(const Explanation& explanation, const TextOptions& options) {
  if (explanation.advice.empty()) return "";
  const Style style(options.colour);
  std::string text = "  " + style.Bold("what would help, each evaluated") + "\n";
  const std::size_t shown =
      options.wide ? explanation.advice.size() : std::min(explanation.advice.size(), options.advice);
  for (std::size_t i = 0; i < shown; ++i) {
    const Advice& advice = explanation.advice[i];
    text += Line(4, fmt::format("{}", fmt::join(advice.steps, "; and ")), options);
    const bool one = advice.nodes.size() == 1;
    std::string result = fmt::format("{} {} then: {}", Counted(advice.nodes.size(), "node"),
                                     one ? "fits" : "fit", NameRanges(advice.nodes));
    if (!advice.victims.empty()) {
      result = fmt::format("{} would be evicted from {} then, and the pod fits there",
                           fmt::join(advice.victims, ", "), advice.victims_node);
    }
    text += Line(6, style.Good(result), options);
  }
  return text;
}

std::string EveryNode(const AttemptRecord& record, const framework::Reasons& reasons) {
  std::string text = "  all nodes\n";
  for (const Row row : Sorted(record, record.all)) {
    std::string verdict;
    if (record.feasible.Has(row)) {
      verdict = record.scored ? fmt::format("fits, total {}", record.Total(row)) : "fits";
    } else if (record.excluded.Has(row)) {
      verdict = record.exclusion_reason;
    } else if (record.pre_filter) {
      verdict =
          fmt::format("{} [{}]", fmt::join(record.pre_filter->reasons, ", "), record.pre_filter->plugin);
    } else {
      std::string_view plugin;
      verdict = fmt::format("{}", fmt::join(record.ReasonsOf(row, reasons, plugin), ", "));
    }
    text += fmt::format("    {}: {}\n", Name(record, row), verdict);
    if (const std::vector<std::string>* details = record.DetailsOf(row)) {
      for (const std::string& line : *details) text += fmt::format("      {}\n", line);
    }
  }
  return text;
}

// What follows the name of a group.
std::string GroupVerdict(const record::GroupRecord& group, const Style& style) {
  switch (group.result) {
    case Result::kScheduled:
      return style.Good("would be placed");
    case Result::kUnschedulable:
      return style.Bad(group.waits_for_evictions ? "waits for evictions" : "waits");
    case Result::kError:
      return style.Bad("cannot be evaluated");
    case Result::kGated:
      return style.Bad("is not evaluated");
    case Result::kIgnored:
      break;
  }
  return style.Good("has no waiting members");
}

std::string GroupHeadline(const GroupExplanation& group, const Style& style) {
  const record::GroupRecord& record = group.record;
  const std::size_t members = group.members.size();
  std::string line = fmt::format("{} ({}, {} {}", style.Bold(record.group), Counted(members, "member"),
                                 std::max(0, record.min_count),
                                 record.tree == nullptr  ? "needed"
                                 : record.min_count == 1 ? "group needed"
                                                         : "groups needed");
  if (record.scheduled > 0) line += fmt::format(", {} on nodes", record.scheduled);
  line += ") " + GroupVerdict(record, style);
  if (record.result == Result::kScheduled || record.result == Result::kUnschedulable) {
    line += fmt::format(": {} of {} waiting {} a node", record.placed, record.pending,
                        record.placed == 1 ? "finds" : "find");
    if (record.failed > 0)
      line += fmt::format(", {} {} none", record.failed, record.failed == 1 ? "finds" : "find");
    if (record.not_tried > 0)
      line += fmt::format(", {} {} not evaluated", record.not_tried, record.not_tried == 1 ? "is" : "are");
  }
  return line;
}

std::string MemberLines(const GroupExplanation& group, const TextOptions& options) {
  std::vector<std::string> placed, bound;
  const std::size_t most = options.wide ? SIZE_MAX : kMostMembers;
  std::size_t waiting = 0;
  for (const GroupExplanation::Member& member : group.members) {
    if (member.node.empty()) continue;
    const std::string name = member.pod.substr(member.pod.find('/') + 1);
    if (!member.bound) ++waiting;
    std::vector<std::string>& names = member.bound ? bound : placed;
    if (names.size() < most) names.push_back(fmt::format("{} on {}", name, member.node));
  }
  std::string text;
  const auto add = [&](std::string_view what, const std::vector<std::string>& names, std::size_t all) {
    if (names.empty()) return;
    std::string line = fmt::format("{}: {}", what, fmt::join(names, ", "));
    if (all > names.size()) line += fmt::format(" and {} more; -o wide lists them", all - names.size());
    text += Line(2, line, options);
  };
  add("on nodes", bound, group.record.scheduled);
  add(group.record.result == Result::kScheduled ? "on nodes then" : "found a node", placed, waiting);
  if (!group.record.victims.empty())
    text += Line(2, fmt::format("evicts {}", fmt::join(group.record.victims, ", ")), options);
  return text;
}

// How many of the waiting members find a node, or of the groups below start.
std::string TreeCounts(const TreeGroup& group) {
  const std::string_view one = group.composite ? "starts" : "finds a node";
  const std::string_view many = group.composite ? "start" : "find a node";
  std::string text = fmt::format("{} of {} {}{}", group.placed, group.pending,
                                 group.composite ? "groups " : "waiting ", group.placed == 1 ? one : many);
  if (group.failed > 0) {
    text += group.composite ? fmt::format(", {} {} not", group.failed, group.failed == 1 ? "does" : "do")
                            : fmt::format(", {} {} none", group.failed, group.failed == 1 ? "finds" : "find");
  }
  if (group.not_tried > 0)
    text += fmt::format(", {} {} not evaluated", group.not_tried, group.not_tried == 1 ? "is" : "are");
  const std::size_t reached = group.scheduled + group.placed;
  if (std::cmp_less(reached, group.min_count))
    text += fmt::format("; {} more needed", static_cast<std::size_t>(group.min_count) - reached);
  return text;
}

std::string TreeVerdict(const TreeGroup& group, const Style& style) {
  switch (group.verdict) {
    case TreeVerdictKind::kStarts:
      return style.Good("starts") + ": " + TreeCounts(group);
    case TreeVerdictKind::kFails:
      return style.Bad("does not start") + ": " + TreeCounts(group);
    case TreeVerdictKind::kIncomplete:
      return style.Bad("is incomplete") + ": " + group.message;
    case TreeVerdictKind::kNotTried:
      break;
  }
  return "is not evaluated";
}

// One line for each group below the root, indented by its level, and the most frequent reasons.
std::string TreeLines(const record::GroupTreeRecord& tree, const TextOptions& options) {
  const Style style(options.colour);
  std::string text;
  for (const TreeGroup& group : tree.groups) {
    const std::size_t indent = 2 * group.level;
    std::string line = fmt::format(
        "{} {} ({}, {} needed", group.composite ? "CompositePodGroup" : "PodGroup", style.Bold(group.name),
        Counted(group.scheduled + group.pending, group.composite ? "group" : "member"),
        std::max(0, group.min_count));
    if (group.scheduled > 0) line += fmt::format(", {} on nodes", group.scheduled);
    text += Line(indent, line + ") " + TreeVerdict(group, style), options);
    // The message of the root is that of the entry.
    if (group.verdict == TreeVerdictKind::kFails && group.level > 1)
      text += Line(indent + 2, group.message, options);
    for (const auto& reason : group.reasons)
      text += Line(indent + 2, Counted(reason.members, "member") + ": " + reason.message, options);
  }
  if (tree.more_groups > 0) text += Line(2, fmt::format("{} more groups", tree.more_groups), options);
  if (!tree.fails_at.empty()) text += Line(2, "the tree fails at " + style.Bold(tree.fails_at), options);
  return text;
}

std::string HolderLine(const GroupExplanation& group, const TextOptions& options) {
  if (group.holders.empty()) return "";
  std::vector<std::string> holders;
  for (const GroupExplanation::Holder& holder : group.holders)
    holders.push_back(fmt::format("{} ({} on {})", holder.pod, holder.amount, holder.node));
  return Line(2, fmt::format("{} is held by {}", group.holders.front().resource, fmt::join(holders, ", ")),
              options);
}

// The first member without a node, evaluated with the earlier ones on theirs.
std::string ObstacleText(const GroupExplanation& group, const framework::Reasons& reasons,
                         const TextOptions& options) {
  const Explanation& obstacle = group.obstacle;
  if (obstacle.record == nullptr) {
    if (group.record.tree != nullptr) return "";
    std::string text;
    for (const record::GroupRecord::Failure& failure : group.record.failures)
      text += Line(2, fmt::format("{}: {}", failure.pod, failure.message), options);
    return text;
  }
  const Style style(options.colour);
  std::string text;
  if (group.record.result != Result::kGated) {
    text +=
        Line(2, style.Bold(obstacle.pod) + " finds none, with the others on theirs: " + Fit(*obstacle.record),
             options);
  } else if (obstacle.record->message != group.record.message) {
    text += Line(2, style.Bold(obstacle.pod) + ": " + obstacle.record->message, options);
  }
  Explanation reasons_only = obstacle;
  reasons_only.advice.clear();
  return text + ExplanationBody(reasons_only, reasons, options) + HolderLine(group, options) +
         AdviceLines(obstacle, options);
}

bool Waits(const Explanation& explanation) {
  return explanation.bound_to.empty() && (explanation.record->result == Result::kUnschedulable ||
                                          explanation.record->result == Result::kError);
}

// The order in which explanations are printed.
int Order(const Explanation& explanation) {
  if (Waits(explanation)) return 0;
  if (!explanation.bound_to.empty()) return 3;
  return explanation.record->result == Result::kScheduled ? 2 : 1;
}

}  // namespace

PodsOfText GroupText(const GroupExplanation& group, const framework::Reasons& reasons,
                     const TextOptions& options) {
  auto verdict = std::make_shared<AttemptRecord>();
  verdict->result = group.record.result;
  verdict->message = group.record.message;
  PodsOfText text{.example = {.pod = group.record.group, .owner = {}, .bound_to = {}, .record = verdict},
                  .headline = GroupHeadline(group, Style(options.colour))};
  for (const GroupExplanation::Member& member : group.members) {
    if (!member.bound) text.pods.push_back(member.pod);
  }
  if (!group.record.message.empty() && group.record.result != Result::kScheduled)
    text.body += Line(2, group.record.message, options);
  if (group.record.tree != nullptr) text.body += TreeLines(*group.record.tree, options);
  text.body += MemberLines(group, options);
  if (group.record.result != Result::kScheduled) text.body += ObstacleText(group, reasons, options);
  return text;
}

std::string ExplanationBody(const Explanation& explanation, const framework::Reasons& reasons,
                            const TextOptions& options) {
  const AttemptRecord& record = *explanation.record;
  std::string text;
  if (options.wide && !record.message.empty()) text += Line(2, "message: " + record.message, options);
  if (record.nodes) {
    text += BestNodes(record, options.best_nodes);
    for (const Reason& reason : explanation.pod_reasons) text += ReasonLines(reason, options);
    text += NodeGroups(explanation, options);
    text += ExtenderTroubles(record);
    text += Nomination(explanation, options);
    if (options.wide) text += PreemptionLines(explanation, options);
  }
  text += AdviceLines(explanation, options);
  if (options.wide && record.nodes) text += EveryNode(record, reasons);
  return text;
}

std::string ExplanationText(const PodsOfText& pods, const TextOptions& options) {
  if (!pods.headline.empty()) return Line(0, pods.headline, options) + pods.body;
  const Style style(options.colour);
  const Explanation& example = pods.example;
  std::string line = style.Bold(example.pod);
  if (pods.pods.size() > 1) {
    line =
        fmt::format("{}: {}, for example {},", style.Bold(example.owner.empty() ? "no owner" : example.owner),
                    Counted(pods.pods.size(), "pod"), style.Bold(example.pod));
  } else if (!example.owner.empty()) {
    line += fmt::format(" ({})", example.owner);
  }
  line += " " + (example.bound_to.empty() ? Verdict(example, style) : BoundVerdict(example, style));
  return Line(0, line, options) + pods.body;
}

std::vector<PodsOfText> GroupByText(std::vector<PodsOfText> all) {
  std::vector<PodsOfText> groups;
  for (PodsOfText& one : all) {
    const auto same = [&](const PodsOfText& group) {
      return group.example.owner == one.example.owner &&
             group.example.record->result == one.example.record->result &&
             group.example.bound_to == one.example.bound_to && group.body == one.body &&
             group.example.record->message == one.example.record->message && group.headline == one.headline;
    };
    const auto found = std::ranges::find_if(groups, same);
    if (found == groups.end()) {
      groups.push_back(std::move(one));
    } else {
      found->pods.insert(found->pods.end(), one.pods.begin(), one.pods.end());
    }
  }
  std::ranges::stable_sort(groups, {}, [](const PodsOfText& group) {
    return std::pair(Order(group.example), -std::ssize(group.pods));
  });
  return groups;
}

std::string SummaryText(const std::vector<PodsOfText>& groups, const TextOptions& options) {
  std::size_t waiting = 0, waiting_groups = 0, placed = 0, other = 0, bound = 0;
  for (const PodsOfText& group : groups) {
    const std::size_t count = group.pods.size();
    switch (Order(group.example)) {
      case 0:
        waiting += count;
        ++waiting_groups;
        break;
      case 1:
        other += count;
        break;
      case 2:
        placed += count;
        break;
      default:
        bound += count;
    }
  }
  if (waiting + placed + other + bound <= 1) return "";
  std::vector<std::string> parts;
  if (waiting > 0)
    parts.push_back(fmt::format("{} {} because no node fits, for {}", Counted(waiting, "pod"),
                                waiting == 1 ? "waits" : "wait", Counted(waiting_groups, "reason")));
  if (placed > 0) parts.push_back(fmt::format("{} would be placed", Counted(placed, "pod")));
  if (other > 0)
    parts.push_back(fmt::format("{} {} not evaluated", Counted(other, "pod"), other == 1 ? "is" : "are"));
  if (bound > 0)
    parts.push_back(fmt::format("{} {} a node", Counted(bound, "pod"), bound == 1 ? "has" : "have"));
  return Line(0, fmt::format("{}", fmt::join(parts, "; ")), options);
}

}  // namespace berth::explain
