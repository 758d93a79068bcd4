#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "base/name_ranges.hpp"
#include "base/text_layout.hpp"
#include "tools/what_if/report.hpp"

namespace berth::what_if {
namespace {

constexpr std::size_t kMostLines = 20;  // of one list

// At most kMostLines of them, wrapped to the width; then the number of the others.
std::string Lines(const std::vector<std::string>& lines, std::string_view noun,
                  const explain::TextOptions& options) {
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), kMostLines); ++i) {
    text += "  ";
    AppendWrapped(text, lines[i], 4,
                  options.width == 0 ? SIZE_MAX : std::max<std::size_t>(options.width, 24));
    text += '\n';
  }
  if (lines.size() > kMostLines)
    text += fmt::format("  and {} more {}s; -o json lists all\n", lines.size() - kMostLines, noun);
  return text;
}

std::string OwnerOr(const std::string& owner, const std::string& pod) {
  return owner.empty() ? "pod " + pod : owner;
}

std::string SummaryOf(const Report& report) {
  const Scenario& scenario = report.scenario;
  const auto [placed, waiting] = report.totals();
  std::vector<std::string> parts = {Counted(placed, "pod") + " placed"};
  if (waiting > 0) parts.push_back(fmt::format("{} wait{}", WithCommas(waiting), waiting == 1 ? "s" : ""));
  if (!scenario.preempted().empty()) parts.push_back(WithCommas(scenario.preempted().size()) + " preempted");
  if (!scenario.lost().empty()) parts.push_back(WithCommas(scenario.lost().size()) + " lost");
  std::size_t blocked = 0;
  for (const ChangeResult& change : report.changes) blocked += change.blocked.size();
  if (blocked > 0) parts.push_back(Counted(blocked, "eviction") + " blocked by budgets");
  return fmt::format("{} on {}\n", fmt::join(parts, ", "), Counted(scenario.nodes(), "node"));
}

std::string ChangeText(const ChangeResult& change, const explain::TextOptions& options) {
  std::vector<std::string> parts;
  if (!change.nodes.empty()) parts.push_back(NameRanges(change.nodes));
  if (change.daemon_pods > 0) parts.push_back(Counted(change.daemon_pods, "DaemonSet pod") + " on them");
  if (change.added > 0) parts.push_back(Counted(change.added, "pod") + " added");
  if (change.removed > 0) parts.push_back(Counted(change.removed, "pod") + " removed");
  if (change.local_storage > 0)
    parts.push_back(
        fmt::format("{} of them with local storage, which is lost", WithCommas(change.local_storage)));
  std::map<std::string, std::size_t> stays;
  for (const StayingPod& pod : change.stays) ++stays[pod.why];
  for (const auto& [why, count] : stays)
    parts.push_back(fmt::format("{} stay{} ({})", Counted(count, "pod"), count == 1 ? "s" : "", why));
  std::string text = change.change;
  if (!parts.empty()) text += fmt::format(": {}", fmt::join(parts, "; "));
  text += '\n';
  std::vector<std::string> blocked;
  for (const BlockedPod& pod : change.blocked)
    blocked.push_back(fmt::format("{} stays: {}", pod.pod, pod.why));
  text += Lines(blocked, "blocked eviction", options);
  for (const std::string& note : change.notes) text += fmt::format("  note: {}\n", note);
  return text;
}

// "Deployment shop/web: 4 pods, from node-1, on node-[2-4]": by owner, origin and change.
std::string Placements(const Report& report, const explain::TextOptions& options) {
  struct Group {
    std::size_t pods = 0;
    std::set<std::string> nodes, from;
  };
  std::map<std::tuple<bool, std::string, FollowedPod::Origin>, Group>
      groups;  // those before the changes first
  for (const FollowedPod& pod : report.pods()) {
    if (pod.gone || pod.node.empty()) continue;
    const bool after = pod.bound_at > 0;
    Group& group = groups[{after, OwnerOr(pod.owner, pod.pod->metadata.Key()), pod.origin}];
    ++group.pods;
    group.nodes.insert(pod.node);
    if (!pod.from.empty()) group.from.insert(pod.from);
  }
  std::vector<std::string> lines;
  for (const auto& [key, group] : groups) {
    const auto& [after, owner, origin] = key;
    std::string line = owner + ": ";
    line += Counted(group.pods, "pod");
    if (!group.from.empty()) line += " from " + NameRanges({group.from.begin(), group.from.end()});
    line += " on " + NameRanges({group.nodes.begin(), group.nodes.end()});
    if (!after && !report.changes.empty()) line += " (also without the changes)";
    lines.push_back(std::move(line));
  }
  return lines.empty() ? "" : "\nplaced\n" + Lines(lines, "line", options);
}

std::string Victims(const Scenario& scenario, const explain::TextOptions& options) {
  std::vector<std::string> lines;
  for (const PreemptedPod& pod : scenario.preempted()) {
    std::string line = fmt::format("{}{} on {}, priority {}", pod.pod,
                                   pod.owner.empty() ? "" : " (" + pod.owner + ")", pod.node, pod.priority);
    if (!pod.by.empty()) line += ", by " + pod.by;
    if (pod.by_priority) line += fmt::format(" of priority {}", *pod.by_priority);
    lines.push_back(std::move(line));
  }
  return lines.empty() ? "" : "\npreempted\n" + Lines(lines, "pod", options);
}

std::string Lost(const Scenario& scenario, const explain::TextOptions& options) {
  std::vector<std::string> lines;
  for (const LostPod& pod : scenario.lost())
    lines.push_back(pod.pod + (pod.node.empty() ? "" : " on " + pod.node) + ": " + pod.why);
  return lines.empty() ? "" : "\nlost\n" + Lines(lines, "pod", options);
}

std::string WaitingText(const Waiting& waiting, const explain::TextOptions& options) {
  std::string text;
  for (const explain::PodsOfText& group : waiting.groups)
    text += "\n" + explain::ExplanationText(group, options);
  if (waiting.not_explained > 0)
    text += fmt::format("\n{} of other kinds wait; the first {} kinds were evaluated\n",
                        Counted(waiting.not_explained, "pod"), kMostExplained);
  return text;
}

std::string HowManyText(const HowMany& answer, const explain::TextOptions& options) {
  std::string text = fmt::format("\n{}{} of {} fit{}\n", answer.limited ? "at least " : "",
                                 Counted(answer.fits, "replica"), answer.pod, answer.fits == 1 ? "s" : "");
  std::map<std::size_t, std::vector<std::string>, std::greater<>> by_count;
  for (const auto& [node, count] : answer.nodes) by_count[count].push_back(node);
  std::vector<std::string> lines;
  for (const auto& [count, nodes] : by_count)
    lines.push_back(
        fmt::format("{} on {}{}", WithCommas(count), nodes.size() > 1 ? "each of " : "", NameRanges(nodes)));
  text += Lines(lines, "line", options);
  if (!answer.limited) text += "the next one:" + WaitingText(answer.next, options);
  return text;
}

std::string NodesNeededText(const NodeMix& mix) {
  if (mix.placed == 0) {
    return fmt::format(
        "\nno more nodes are needed: {}\n",
        mix.waiting == 0 ? "no pod waits" : Counted(mix.waiting, "pod") + " would wait on new nodes, too");
  }
  std::vector<std::string> parts;
  for (const NodeMix::Part& part : mix.parts)
    parts.push_back(fmt::format("{} like {}", Counted(part.count, "node"), part.shape));
  std::string text =
      fmt::format("\nneeded for {}: {}", Counted(mix.placed, "waiting pod"), fmt::join(parts, " and "));
  if (mix.price > 0) text += fmt::format("; price {:.6g}", mix.price);
  text += fmt::format("\n  evaluated: with any one of them less, fewer pods are placed\n");
  if (mix.waiting > 0)
    text += fmt::format("  {} would wait on more of these nodes, too\n", Counted(mix.waiting, "pod"));
  return text;
}

std::string ConsolidationText(const Consolidation& found, const explain::TextOptions& options) {
  std::vector<std::string> empty, emptied, moves, kept;
  for (const EmptiedNode& node : found.emptied) (node.pods == 0 ? empty : emptied).push_back(node.node);
  std::ranges::sort(empty);
  std::ranges::sort(emptied);
  std::string text = fmt::format("\n{} could be emptied with {}", Counted(emptied.size(), "node"),
                                 Counted(found.moves.size(), "move"));
  if (!emptied.empty()) text += ": " + NameRanges(emptied);
  text += '\n';
  if (!empty.empty()) text += fmt::format("  empty already: {}\n", NameRanges(empty));
  for (const MovedPod& move : found.moves)
    moves.push_back(fmt::format("{}: {} -> {}", move.pod, move.from, move.to));
  text += Lines(moves, "move", options);
  for (const KeptNode& node : found.kept) kept.push_back(fmt::format("{} stays: {}", node.node, node.why));
  text += Lines(kept, "node", options);
  if (found.not_tried > 0)
    text += fmt::format("  {} not tried, after {} in a row that stay\n", Counted(found.not_tried, "node"),
                        kMostKept);
  return text;
}

std::string ChoiceText(const ChangedPlacement::Choice& choice) {
  if (choice.node.empty()) return "no node";
  std::string text = choice.node;
  if (choice.own_total) text += fmt::format(" (total {}", *choice.own_total);
  if (choice.own_total)
    text += choice.other_total ? fmt::format(", the other node {})", *choice.other_total)
                               : ", the other node does not fit)";
  if (choice.equal > 1) text += fmt::format(" or {} equally good", choice.equal - 1);
  return text;
}

std::string ComparisonText(const Comparison& found, const explain::TextOptions& options) {
  std::string text = fmt::format("\nwith the other configuration {} of {} would be placed differently\n",
                                 WithCommas(found.changed.size()), Counted(found.pods, "pod"));
  std::vector<std::string> lines;
  for (const ChangedPlacement& pod : found.changed)
    lines.push_back(fmt::format("{}: {} -> {}", pod.pod, ChoiceText(pod.before), ChoiceText(pod.after)));
  text += Lines(lines, "pod", options);
  if (found.other_totals > 0)
    text += fmt::format("  {} with the same placement {} another total, by up to {}\n",
                        Counted(found.other_totals, "pod"), found.other_totals == 1 ? "has" : "have",
                        found.largest_difference);
  return text;
}

}  // namespace

std::string ReportText(const Report& report, const explain::TextOptions& options) {
  std::string text = SummaryOf(report);
  for (const ChangeResult& change : report.changes) text += ChangeText(change, options);
  if (report.how_many) text += HowManyText(*report.how_many, options);
  if (report.nodes_needed) text += NodesNeededText(*report.nodes_needed);
  if (report.comparison) text += ComparisonText(*report.comparison, options);
  if (report.consolidation) text += ConsolidationText(*report.consolidation, options);
  text += Placements(report, options);
  text += Victims(report.scenario, options);
  text += Lost(report.scenario, options);
  text += WaitingText(report.waiting, options);
  return text;
}

}  // namespace berth::what_if
