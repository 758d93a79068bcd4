#include "tools/explain/explanation_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace berth::explain {
namespace {

using cluster::Row;
using record::AttemptRecord;
using record::Result;

std::string Headline(const AttemptRecord& record);
std::string BestNodes(const AttemptRecord& record, std::size_t most);
std::string ReasonGroups(const AttemptRecord& record, const framework::Reasons& reasons);
std::string Details(const AttemptRecord& record, std::size_t most);
std::string Preemption(const AttemptRecord& record);
std::string NearestMisses(const AttemptRecord& record, const cluster::PodInfo& pod,
                          const assembly::Engine& engine, std::size_t most);
std::string EveryNode(const AttemptRecord& record, const framework::Reasons& reasons);

const std::string& Name(const AttemptRecord& record, std::size_t row) { return record.nodes->by_row[row]; }

std::vector<Row> Sorted(const AttemptRecord& record, const RowSet& rows) {
  std::vector<Row> sorted;
  rows.ForEach([&](std::size_t row) { sorted.push_back(static_cast<Row>(row)); });
  std::ranges::sort(sorted, {}, [&](Row row) -> const std::string& { return Name(record, row); });
  return sorted;
}

// "1500m" for CPU, "1.5Gi" for bytes, plain numbers for other resources.
std::string Amount(cluster::ResourceId resource, std::int64_t value) {
  if (resource == cluster::kCpu) {
    constexpr std::int64_t kCore = 1000;
    return value % kCore == 0 ? fmt::format("{}", value / kCore) : fmt::format("{}m", value);
  }
  if (resource != cluster::kMemory && resource != cluster::kEphemeralStorage) return fmt::format("{}", value);
  static constexpr std::array<const char*, 5> kUnits{"", "Ki", "Mi", "Gi", "Ti"};
  double scaled = static_cast<double>(value);
  std::size_t unit = 0;
  while (std::abs(scaled) >= 1024 && unit + 1 < kUnits.size()) {
    scaled /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g}{}", scaled, kUnits[unit]);
}

std::string Headline(const AttemptRecord& record) {
  switch (record.result) {
    case Result::kScheduled: {
      const std::size_t equals = record.Best().Count();
      std::string text = fmt::format("goes to {}", Name(record, record.node));
      if (record.scored) text += fmt::format(" (total {})", record.Total(record.node));
      if (equals > 1) text += fmt::format(", one of {} equally good nodes", equals);
      return text + fmt::format("; {} of {} nodes fit\n", record.feasible.Count(), record.all.Count());
    }
    case Result::kUnschedulable:
      return "stays pending: " + record.message + "\n";
    case Result::kError:
      return "cannot be evaluated: " + record.message + "\n";
    case Result::kGated:
      return "is gated: " + record.message + "\n";
    case Result::kIgnored:
      return "is assigned to another scheduler: " + record.message + "\n";
  }
  return "\n";
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

std::string Examples(const AttemptRecord& record, const RowSet& rows) {
  constexpr std::size_t kShown = 3;
  const std::vector<Row> sorted = Sorted(record, rows);
  std::string text;
  for (std::size_t i = 0; i < std::min(sorted.size(), kShown); ++i)
    text += (i == 0 ? "" : ", ") + Name(record, sorted[i]);
  return sorted.size() > kShown ? text + ", ..." : text;
}

std::string ReasonGroups(const AttemptRecord& record, const framework::Reasons& reasons) {
  struct Group {
    std::string reason;
    std::string plugin;
    RowSet rows;
  };
  std::vector<Group> groups;
  const auto add = [&](const std::string& reason, std::string_view plugin, const RowSet& rows) {
    if (rows.Empty()) return;
    auto found = std::ranges::find_if(
        groups, [&](const Group& group) { return group.reason == reason && group.plugin == plugin; });
    if (found == groups.end()) found = groups.insert(groups.end(), Group{reason, std::string(plugin), {}});
    found->rows |= rows;
  };
  record.ForEachReason(reasons, [&](std::string_view plugin, const std::string& text, const RowSet& rows) {
    add(text, plugin, rows);
  });
  add(record.exclusion_reason, record.excluding_plugins, record.excluded);
  for (const auto& silence : record.extenders.silent)
    add(fmt::format("rejected by extender {} without reason", silence.extender), "Extender", silence.rows);
  if (groups.empty()) return "";
  std::ranges::stable_sort(groups, std::greater<>{}, [](const Group& group) { return group.rows.Count(); });
  std::string text = record.feasible.Empty() ? "  why no node fits\n" : "  why not other nodes\n";
  for (const Group& group : groups) {
    const std::size_t count = group.rows.Count();
    text += fmt::format("    {:>6} {:<5}  {} [{}]: {}\n", count, count == 1 ? "node" : "nodes", group.reason,
                        group.plugin, Examples(record, group.rows));
  }
  return text;
}

// What plugins add to their reasons, for the most frequent texts.
std::string Details(const AttemptRecord& record, std::size_t most) {
  std::vector<const framework::RejectionDetail*> sorted;
  for (const framework::RejectionDetail& detail : record.details) sorted.push_back(&detail);
  std::ranges::stable_sort(sorted, std::greater<>{}, [](const auto* detail) { return detail->rows.Count(); });
  std::string text;
  std::size_t nodes_left = 0;
  for (const framework::RejectionDetail* detail : sorted) {
    if (most == 0) {
      nodes_left += detail->rows.Count();
      continue;
    }
    --most;
    text += fmt::format("    {}\n", Examples(record, detail->rows));
    for (const std::string& line : detail->lines) text += fmt::format("      {}\n", line);
  }
  if (nodes_left > 0) text += fmt::format("    {} more nodes, see --all-nodes\n", nodes_left);
  return text.empty() ? text : "  details\n" + text;
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

// The nominated node and the pods to evict.
std::string Preemption(const AttemptRecord& record) {
  if (!record.nomination) return "";
  const record::Nomination& found = *record.nomination;
  std::string text = fmt::format("  preemption\n    nominated to {}, evicting {}\n", found.node,
                                 fmt::join(found.victims, ", "));
  RowSet others = found.choices;
  found.choices.ForEach([&](std::size_t row) {
    if (Name(record, row) == found.node) others.Remove(row);
  });
  if (others.Empty()) return text;
  return text + fmt::format("    as good: {}\n", Examples(record, others));
}

// Nodes that only lack resources, sorted by the relative size of the shortage.
std::string NearestMisses(const AttemptRecord& record, const cluster::PodInfo& pod,
                          const assembly::Engine& engine, std::size_t most) {
  RowSet short_of_resources;
  for (const record::Rejection& rejection : record.rejections) {
    if (rejection.plugin == "NodeResourcesFit") short_of_resources |= rejection.rows;
  }
  if (short_of_resources.Empty()) return "";
  const cluster::NodeTable& nodes = engine.cache().nodes();
  struct Miss {
    Row row;
    double worst = 0;
    std::vector<std::string> lacks;
  };
  std::vector<Miss> misses;
  for (const Row row : Sorted(record, short_of_resources)) {
    Miss miss{row, 0, {}};
    const auto check = [&](cluster::ResourceId resource, std::int64_t request) {
      const auto allocatable = nodes.allocatable(resource);
      const std::int64_t total = allocatable.empty() ? 0 : allocatable[row];
      const std::int64_t free = allocatable.empty() ? 0 : total - nodes.requested(resource)[row];
      if (request <= 0 || request <= free) return;
      miss.worst = std::max(miss.worst, static_cast<double>(request - free) / static_cast<double>(request));
      miss.lacks.push_back(fmt::format("{} {} more (requests {}, {} of {} free)",
                                       Amount(resource, request - free),
                                       engine.symbols().ResourceName(resource), Amount(resource, request),
                                       Amount(resource, free), Amount(resource, total)));
    };
    check(cluster::kCpu, pod.fit().milli_cpu);
    check(cluster::kMemory, pod.fit().memory);
    check(cluster::kEphemeralStorage, pod.fit().ephemeral_storage);
    for (const auto& [resource, request] : pod.fit().scalars) check(resource, request);
    if (nodes.pod_count()[row] + 1 > nodes.allowed_pods()[row]) {
      miss.worst = std::max(miss.worst, 1.0);
      miss.lacks.push_back(fmt::format("room for one more pod ({} of {} are there)", nodes.pod_count()[row],
                                       nodes.allowed_pods()[row]));
    }
    if (!miss.lacks.empty()) misses.push_back(std::move(miss));
  }
  std::ranges::stable_sort(misses, {}, &Miss::worst);
  misses.resize(std::min(misses.size(), most));
  std::string text = misses.empty() ? "" : "  nearest misses\n";
  for (const Miss& miss : misses) {
    text += fmt::format("    {} needs {}\n", Name(record, miss.row), fmt::join(miss.lacks, " and "));
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

}  // namespace

std::string ExplanationText(const assembly::Explainer::Evaluated& evaluated, const assembly::Engine& engine,
                            const TextOptions& options) {
  const AttemptRecord& record = *evaluated.record;
  std::string text = fmt::format("{} {}", record.pod, Headline(record));
  if (evaluated.pod == nullptr || !record.nodes) return text;
  text += BestNodes(record, options.best_nodes);
  text += ReasonGroups(record, engine.reasons());
  if (!options.all_nodes) text += Details(record, options.details);
  text += ExtenderTroubles(record);
  text += Preemption(record);
  text += NearestMisses(record, *evaluated.pod, engine, options.nearest_misses);
  if (options.all_nodes) text += EveryNode(record, engine.reasons());
  return text;
}

}  // namespace berth::explain
