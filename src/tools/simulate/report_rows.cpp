#include "tools/simulate/report_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text_layout.hpp"

namespace berth::simulate {
namespace {

using Show = std::function<std::string(const Result&)>;

SummaryRow RowOf(std::string label, std::span<const Result> results, const Show& show) {
  SummaryRow row{std::move(label), {}};
  for (const Result& result : results) row.values.push_back(show(result));
  return row;
}

// Indices of kinds by descending count, ties in the order of the workload.
std::vector<std::size_t> Ordered(const Result& result, std::uint64_t KindResult::* count, std::size_t most) {
  std::vector<std::size_t> order(result.kinds.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return result.kinds[i].*count; });
  if (order.size() > most) order.resize(most);
  return order;
}

double MeanOf(const Result& result, double Sample::* member) {
  double sum = 0;
  for (const Sample& sample : result.samples) sum += sample.*member;
  return result.samples.empty() ? 0 : sum / static_cast<double>(result.samples.size());
}

std::string QueueText(const Result& result, std::uint64_t Sample::* member) {
  std::uint64_t most = 0;
  double sum = 0;
  for (const Sample& sample : result.samples) {
    most = std::max(most, sample.*member);
    sum += static_cast<double>(sample.*member);
  }
  const double mean = result.samples.empty() ? 0 : sum / static_cast<double>(result.samples.size());
  return fmt::format("{:.1f} / {}", mean, WithCommas(most));
}

// The pods of all kinds count equally.
double MeanSkew(const Result& result, SampledValue KindResult::* member, bool& any) {
  double sum = 0, weights = 0;
  for (const KindResult& kind : result.kinds) {
    if ((kind.*member).count == 0) continue;
    any = true;
    sum += (kind.*member).mean() * static_cast<double>(kind.created);
    weights += static_cast<double>(kind.created);
  }
  return weights > 0 ? sum / weights : 0;
}

std::string SkewText(const Result& result, SampledValue KindResult::* member) {
  bool any = false;
  const double mean = MeanSkew(result, member, any);
  return any ? fmt::format("{:.2f}", mean) : "-";
}

SummarySection PodSection(std::span<const Result> results) {
  SummarySection section{"Pods", {}};
  const auto count = [&](std::string label, std::uint64_t KindResult::* member) {
    section.rows.push_back(
        RowOf(std::move(label), results, [member](const Result& r) { return WithCommas(r.Sum(member)); }));
  };
  count("created", &KindResult::created);
  count("bound", &KindResult::bound);
  count("completed", &KindResult::completed);
  count("preempted", &KindResult::preempted);
  count("lost with a node", &KindResult::lost);
  if (std::ranges::any_of(results, [](const Result& r) { return r.groups.any; }))
    count("stopped with their group", &KindResult::stopped);
  count("waiting at the end", &KindResult::pending);
  section.rows.push_back(RowOf("attempts", results, [](const Result& r) { return WithCommas(r.attempts); }));
  section.rows.push_back(
      RowOf("failed attempts", results, [](const Result& r) { return WithCommas(r.failed_attempts); }));
  return section;
}

SummarySection GroupSection(std::span<const Result> results) {
  SummarySection section{"Groups", {}};
  const auto row = [&](std::string label, const Show& show) {
    section.rows.push_back(RowOf(std::move(label), results, show));
  };
  for (const auto& [label, member] : {std::pair{"created", &GroupResult::created},
                                      {"started", &GroupResult::started},
                                      {"completed", &GroupResult::completed},
                                      {"stopped", &GroupResult::stopped},
                                      {"waiting at the end", &GroupResult::waiting}})
    row(label, [member](const Result& r) { return WithCommas(r.groups.*member); });
  for (const auto& [label, share] :
       {std::pair{"time to start, p50", 0.5}, {"time to start, p90", 0.9}, {"time to start, p99", 0.99}})
    row(label, [share](const Result& r) { return ShowDuration(r.groups.time_to_start.Percentile(share)); });
  row("time to start, max", [](const Result& r) { return ShowDuration(r.groups.time_to_start.max()); });
  row("last one completed at", [](const Result& r) { return ShowDuration(r.groups.last_completed); });
  row("longest wait at the end", [](const Result& r) { return ShowDuration(r.groups.longest_wait); });
  for (std::size_t i = 0; i < results.front().resources.size(); ++i) {
    const std::string& resource = results.front().resources[i];
    row(fmt::format("{} held by groups that have not started", resource),
        [i](const Result& r) { return ShowShare(r.groups.mean_held[i]); });
    row(fmt::format("{} free while a group waits", resource),
        [i](const Result& r) { return ShowShare(r.groups.mean_idle[i]); });
  }
  return section;
}

SummarySection TimeSection(std::span<const Result> results) {
  SummarySection section{"Time to bind", {}};
  for (const auto& [label, share] : {std::pair{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}}) {
    section.rows.push_back(RowOf(
        label, results, [share](const Result& r) { return ShowDuration(r.time_to_bind.Percentile(share)); }));
  }
  section.rows.push_back(
      RowOf("max", results, [](const Result& r) { return ShowDuration(r.time_to_bind.max()); }));
  return section;
}

SummarySection NodeSection(std::span<const Result> results) {
  SummarySection section{"Nodes", {}};
  for (std::size_t i = 0; i < results.front().resources.size(); ++i) {
    section.rows.push_back(RowOf(fmt::format("{} requested, mean", results.front().resources[i]), results,
                                 [i](const Result& r) { return ShowShare(r.mean_used[i]); }));
    section.rows.push_back(RowOf(fmt::format("{} requested, at the end", results.front().resources[i]),
                                 results,
                                 [i](const Result& r) { return ShowShare(r.samples.back().used[i]); }));
    section.rows.push_back(RowOf(fmt::format("{} fragmented, mean", results.front().resources[i]), results,
                                 [i](const Result& r) { return ShowShare(r.mean_fragmented[i]); }));
  }
  section.rows.push_back(RowOf("hot nodes, mean", results,
                               [](const Result& r) { return ShowShare(MeanOf(r, &Sample::hot_nodes)); }));
  section.rows.push_back(RowOf("imbalance of cpu, mean", results,
                               [](const Result& r) { return ShowShare(MeanOf(r, &Sample::imbalance)); }));
  section.rows.push_back(RowOf("skew over zones, mean", results,
                               [](const Result& r) { return SkewText(r, &KindResult::zone_skew); }));
  section.rows.push_back(RowOf("most of a kind on a node, mean", results,
                               [](const Result& r) { return SkewText(r, &KindResult::most_on_node); }));
  section.rows.push_back(RowOf("failed / added / removed", results, [](const Result& r) {
    return fmt::format("{} / {} / {}", r.nodes_failed, r.nodes_added, r.nodes_removed);
  }));
  return section;
}

}  // namespace

std::vector<SummarySection> Summarize(std::span<const Result> results) {
  SummarySection queue{"Queue, mean / most", {}};
  for (const auto& [label, member] : {std::pair{"active", &Sample::active},
                                      {"backoff", &Sample::backoff},
                                      {"unschedulable", &Sample::unschedulable}}) {
    queue.rows.push_back(RowOf(label, results, [member](const Result& r) { return QueueText(r, member); }));
  }
  std::vector<SummarySection> sections{PodSection(results), TimeSection(results)};
  if (std::ranges::any_of(results, [](const Result& r) { return r.groups.any; }))
    sections.push_back(GroupSection(results));
  sections.push_back(std::move(queue));
  sections.push_back(NodeSection(results));
  return sections;
}

const std::vector<std::string>& KindColumns() {
  static const std::vector<std::string> kColumns = {"kind", "created", "bound", "preempted", "waiting",
                                                    "p50",  "p99",     "max",   "zone skew", "most on node"};
  return kColumns;
}

std::vector<std::vector<std::string>> KindRows(const Result& result, std::size_t most) {
  std::vector<std::vector<std::string>> rows;
  for (const std::size_t index : Ordered(result, &KindResult::created, most)) {
    const KindResult& kind = result.kinds[index];
    const auto sampled = [](const SampledValue& value) {
      return value.count == 0 ? "-" : fmt::format("{:.1f} / {:g}", value.mean(), value.most);
    };
    rows.push_back({kind.name, WithCommas(kind.created), WithCommas(kind.bound), WithCommas(kind.preempted),
                    WithCommas(kind.pending), ShowDuration(kind.time_to_bind.Percentile(0.5)),
                    ShowDuration(kind.time_to_bind.Percentile(0.99)), ShowDuration(kind.time_to_bind.max()),
                    sampled(kind.zone_skew), sampled(kind.most_on_node)});
  }
  return rows;
}

std::vector<std::string> PendingLines(const Result& result, std::size_t most) {
  std::vector<std::string> lines;
  for (const std::size_t index : Ordered(result, &KindResult::pending, result.kinds.size())) {
    const KindResult& kind = result.kinds[index];
    if (kind.pending == 0) break;
    if (lines.size() == most) {
      lines.emplace_back("further kinds are in the JSON form");
      break;
    }
    lines.push_back(fmt::format("{} of {}: {}", WithCommas(kind.pending), kind.name,
                                kind.reason.empty() ? "not attempted yet" : kind.reason));
  }
  return lines;
}

std::string ShowDuration(Duration duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  if (seconds == 0) return "0";
  if (seconds < 1e-3) return fmt::format("{:.0f}us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g}ms", seconds * 1e3);
  if (seconds < 60) return fmt::format("{:.3g}s", seconds);
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  if (whole < 2 * 86400) return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
  return fmt::format("{:.1f}d", seconds / 86400);
}

std::string ShowShare(double share) { return fmt::format("{:.1f}%", share * 100); }

}  // namespace berth::simulate
