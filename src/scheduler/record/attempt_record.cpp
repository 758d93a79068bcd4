#include "scheduler/record/attempt_record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/check.hpp"
#include "base/wrap.hpp"

namespace berth::record {

std::string_view ResultName(Result result) {
  static constexpr std::array<std::string_view, 5> kNames{"scheduled", "unschedulable", "error", "gated",
                                                          "ignored"};
  return kNames[static_cast<std::size_t>(result)];
}

std::string_view AttemptRecord::SelectedNode() const {
  return result == Result::kScheduled ? std::string_view(nodes->by_row[node]) : std::string_view();
}

bool AttemptRecord::CouldSelect(std::string_view node_name) const {
  if (SelectedNode() == node_name) return true;
  if (result != Result::kScheduled) return false;
  bool found = false;
  Best().ForEach([&](std::size_t row) { found = found || nodes->by_row[row] == node_name; });
  return found;
}

std::int64_t AttemptRecord::Total(std::uint32_t row) const {
  std::int64_t total = base_total;
  for (const ScoreSnapshot::OfPlugin& plugin : scores.plugins()) total += plugin.weight() * plugin[row];
  for (const ExtenderShare::Scores& extender : extenders.scores) total = WrapAdd(total, extender.values[row]);
  return total;
}

RowSet AttemptRecord::Best() const {
  if (result != Result::kScheduled || !best.Empty()) return best;
  RowSet rows(nodes->by_row.size());
  std::int64_t highest = INT64_MIN;
  feasible.ForEach([&](std::size_t index) {
    const auto row = static_cast<std::uint32_t>(index);
    const std::int64_t total = Total(row);
    if (total > highest) rows.Clear();
    highest = std::max(highest, total);
    if (total == highest) rows.Add(row);
  });
  return rows;
}

std::vector<std::uint32_t> AttemptRecord::Ranked(std::size_t most) const {
  BERTH_CHECK(scored, pod);
  using Candidate =
      std::tuple<bool, std::int64_t, std::string_view, std::uint32_t>;  // others, ~total, name, row
  std::vector<Candidate> candidates;
  feasible.ForEach([&](std::size_t index) {
    const auto row = static_cast<std::uint32_t>(index);
    const bool selected = result == Result::kScheduled && row == node;
    // The complement reverses the order of all numbers; the lowest one has no negative.
    candidates.emplace_back(!selected, ~Total(row), nodes->by_row[row], row);
  });
  const auto shown = std::min(candidates.size(), most);
  std::ranges::partial_sort(candidates, candidates.begin() + static_cast<std::ptrdiff_t>(shown));
  std::vector<std::uint32_t> rows;
  for (std::size_t i = 0; i < shown; ++i) rows.push_back(std::get<3>(candidates[i]));
  return rows;
}

std::size_t AttemptRecord::Bytes() const {
  struct {
    std::size_t operator()(const RowSet& set) const { return set.words().size_bytes(); }
    std::size_t operator()(const SharedRows& set) const { return set.Bytes(); }
  } set_bytes;
  std::size_t bytes =
      sizeof(*this) + pod.size() + scheduler_name.size() + message.size() + exclusion_reason.size();
  bytes +=
      set_bytes(all) + set_bytes(feasible) + set_bytes(unresolvable) + set_bytes(excluded) + set_bytes(best);
  for (const Rejection& rejection : rejections) bytes += sizeof(rejection) + set_bytes(rejection.rows);
  for (const PluginReasons& part : row_reasons) {
    bytes += sizeof(part) + part.reasons.rows.size() * sizeof(part.reasons.rows.front());
    for (const std::string& text : part.reasons.texts) bytes += sizeof(std::string) + text.size();
  }
  for (const framework::RejectionDetail& detail : details) {
    bytes += sizeof(detail) + set_bytes(detail.rows);
    for (const std::string& line : detail.lines) bytes += sizeof(std::string) + line.size();
  }
  bytes += scores.Bytes();
  for (const auto& silence : extenders.silent) bytes += sizeof(silence) + set_bytes(silence.rows);
  for (const std::string& reason : extenders.unknown_node_reasons) bytes += sizeof(reason) + reason.size();
  for (const auto& part : extenders.scores)
    bytes += sizeof(part) + part.values.size() * sizeof(part.values.front());
  for (const auto& error : extenders.errors) bytes += sizeof(error) + error.error.size();
  if (nomination) {
    bytes += set_bytes(nomination->choices);
    for (const std::string& name : nomination->victims) bytes += sizeof(std::string) + name.size();
  }
  // Each record counts its share.
  if (group != nullptr) bytes += group->Bytes() / std::max<std::size_t>(1, group->pending);
  return bytes + post_filter.size();
}

std::size_t GroupTreeRecord::Bytes() const {
  std::size_t bytes = sizeof(*this) + fails_at.size();
  for (const Group& each : groups) {
    bytes += sizeof(each) + each.name.size() + each.message.size();
    for (const Reason& reason : each.reasons) bytes += sizeof(reason) + reason.message.size();
  }
  return bytes;
}

std::size_t GroupRecord::Bytes() const {
  std::size_t bytes = sizeof(*this) + group.size() + message.size();
  for (const Failure& failure : failures)
    bytes += sizeof(failure) + failure.pod.size() + failure.message.size();
  if (placement) bytes += placement->name.size();
  for (const std::string& victim : victims) bytes += sizeof(std::string) + victim.size();
  // Each of its groups counts its share.
  if (tree != nullptr)
    bytes += tree->Bytes() / std::max<std::size_t>(1, tree->groups.size() + tree->more_groups);
  return bytes;
}

const std::vector<std::string>* AttemptRecord::DetailsOf(std::uint32_t row) const {
  for (const framework::RejectionDetail& detail : details) {
    if (detail.rows.Has(row)) return &detail.lines;
  }
  return nullptr;
}

std::vector<std::string> AttemptRecord::ReasonsOf(std::uint32_t row, const framework::Reasons& reasons,
                                                  std::string_view& plugin) const {
  std::vector<std::string> texts;
  for (const Rejection& rejection : rejections) {
    if (!rejection.rows.Has(row)) continue;
    plugin = rejection.plugin;
    texts.push_back(reasons.Text(rejection.reason));
  }
  for (const PluginReasons& part : row_reasons) {
    for (const auto& [said_of, text] : part.reasons.rows) {
      if (said_of != row) continue;
      plugin = part.plugin;
      texts.push_back(part.reasons.texts[text]);
    }
  }
  for (const ExtenderShare::SilentRemoval& silence : extenders.silent) {
    if (!texts.empty() || !silence.rows.Has(row)) continue;
    plugin = "Extender";
    texts.push_back(fmt::format("rejected by extender {} without reason", silence.extender));
  }
  return texts;
}

namespace {

// "2 Insufficient cpu, 3 node(s) ...": sorted as text, so that "10 x" comes before "2 y", as in
// kube-scheduler.
std::string Histogram(const AttemptRecord& record, const framework::Reasons& reasons) {
  std::map<std::string, std::size_t, std::less<>> counts;
  const auto count = [&](const std::string& reason, std::size_t nodes) {
    if (nodes > 0) counts[reason] += nodes;
  };
  for (const Rejection& rejection : record.rejections)
    count(reasons.Text(rejection.reason), rejection.rows.Count());
  for (const PluginReasons& part : record.row_reasons) {
    for (const auto& [row, text] : part.reasons.rows) count(part.reasons.texts[text], 1);
  }
  // kube-scheduler counts every node without a status here, also those that an extender removed without a
  // reason.
  std::size_t without_status = record.excluded.Count();
  for (const ExtenderShare::SilentRemoval& silence : record.extenders.silent)
    without_status += silence.rows.Count();
  if (!record.exclusion_reason.empty()) count(record.exclusion_reason, without_status);
  for (const std::string& reason : record.extenders.unknown_node_reasons) count(reason, 1);
  std::vector<std::string> parts;
  for (const auto& [reason, nodes] : counts) parts.push_back(fmt::format("{} {}", nodes, reason));
  std::ranges::sort(parts);
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string FitErrorMessage(const AttemptRecord& record, const framework::Reasons& reasons) {
  std::string message = fmt::format("0/{} nodes are available:", record.all.Count());
  const std::string why = record.pre_filter ? fmt::format("{}", fmt::join(record.pre_filter->reasons, ", "))
                                            : Histogram(record, reasons);
  if (!why.empty()) message += " " + why + ".";
  if (!record.post_filter.empty()) message += " " + record.post_filter;
  return message;
}

}  // namespace berth::record
