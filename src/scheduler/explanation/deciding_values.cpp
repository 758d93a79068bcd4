#include "scheduler/explanation/deciding_values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include "base/name_ranges.hpp"
#include "kubernetes/api/selectors.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/explanation/neighbours.hpp"
#include "scheduler/explanation/node_requirements.hpp"
#include "scheduler/explanation/resources.hpp"
#include "scheduler/explanation/spreading.hpp"
#include "scheduler/explanation/taints.hpp"
#include "scheduler/explanation/volumes.hpp"

namespace berth::explanation {
namespace {

using Lines = std::vector<std::string>;
using cluster::Row;

constexpr std::size_t kFewLines = 4;  // of one reason
constexpr std::size_t kFewNames = 3;

Lines TaintValues(const Situation& at, const Obstacle&, const RowSet& rows);
Lines SelectionValues(const Situation& at, const Obstacle&, const RowSet& rows);
Lines ResourceValues(const Situation& at, const Obstacle& obstacle, const RowSet& rows);
Lines SpreadValues(const Situation& at, const Obstacle&, const RowSet& rows);
Lines AffinityValues(const Situation& at, const Obstacle& obstacle, const RowSet& rows);
Lines PortValues(const Situation& at, const Obstacle&, const RowSet& rows);
Lines VolumeValuesOf(const Situation& at, const Obstacle&, const RowSet& rows);
Lines DetailValues(const Situation& at, const RowSet& rows);

struct Source {
  std::string_view plugin;
  Lines (*values)(const Situation&, const Obstacle&, const RowSet&);
};
constexpr Source kSources[] = {
    {"TaintToleration", &TaintValues},     {"NodeAffinity", &SelectionValues},
    {"NodeResourcesFit", &ResourceValues}, {"PodTopologySpread", &SpreadValues},
    {"InterPodAffinity", &AffinityValues}, {"NodePorts", &PortValues},
    {"VolumeBinding", &VolumeValuesOf},    {"VolumeZone", &VolumeValuesOf},
    {"NodeVolumeLimits", &VolumeValuesOf}, {"VolumeRestrictions", &VolumeValuesOf},
};

// "a, b, c and 4 more"
std::string Some(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), kFewNames);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<long>(shown), ", "));
  return names.size() > shown ? text + fmt::format(" and {} more", names.size() - shown) : text;
}

std::string Nodes(std::size_t count) { return fmt::format("{} {}", count, count == 1 ? "node" : "nodes"); }

// "text: names" for each text, the most frequent first.
Lines ByFrequency(const Situation& at, const std::map<std::string, RowSet>& texts, std::size_t of) {
  std::vector<std::pair<std::string, RowSet>> sorted(texts.begin(), texts.end());
  std::ranges::stable_sort(sorted, std::greater<>{}, [](const auto& entry) { return entry.second.Count(); });
  Lines lines;
  for (const auto& [text, rows] : sorted) {
    if (lines.size() == kFewLines) {
      lines.push_back(fmt::format("and {} other values", sorted.size() - kFewLines));
      break;
    }
    lines.push_back(rows.Count() == of ? text
                                       : fmt::format("{}: {}", text, NameRanges(NamesOfRows(at, rows))));
  }
  return lines;
}

Lines TaintValues(const Situation& at, const Obstacle&, const RowSet& rows) {
  std::map<std::string, RowSet> by_text;
  rows.ForEach([&](std::size_t row) {
    const auto taints = UntoleratedTaints(*at.pod.pod, at.nodes().node(static_cast<Row>(row)));
    by_text.try_emplace(fmt::format("taint {}", fmt::join(TaintTexts(taints), ", ")), at.nodes().rows())
        .first->second.Add(row);
  });
  return ByFrequency(at, by_text, rows.Count());
}

Lines SelectionValues(const Situation& at, const Obstacle&, const RowSet& rows) {
  // A pod may have thousands of requirements, and each of these is compared with all nodes.
  constexpr std::size_t kMostCompared = 100;
  Lines lines;
  for (const NodeRequirement& requirement : NodeRequirements(*at.pod.pod) | std::views::take(kMostCompared)) {
    if (lines.size() == kFewLines) break;
    const RowSet failing = requirement.FailingRows(at.nodes(), rows);
    if (failing.Empty()) continue;
    std::vector<std::string> values;
    std::size_t labelled = 0;
    for (const auto& [value, count] : LabelValues(at.nodes(), failing, requirement.spec.key)) {
      values.push_back(fmt::format("{}={} on {}", requirement.spec.key, value, Nodes(count)));
      labelled += count;
    }
    if (values.size() > kFewNames) {
      values.resize(kFewNames);
      values.emplace_back("other values");
    }
    if (const std::size_t without = failing.Count() - labelled; without > 0)
      values.push_back(fmt::format("no label {} on {}", requirement.spec.key, Nodes(without)));
    std::string line = fmt::format("requires {}; there is {}", requirement.Text(), fmt::join(values, ", "));
    if (const std::string nearest = NearestValue(at.nodes(), requirement); !nearest.empty()) {
      line += fmt::format("; nearest existing value: {}", nearest);
    } else if (const std::string key = NearestKey(at.lookups.label_keys, requirement); !key.empty()) {
      line += fmt::format("; nearest existing label: {}", key);
    }
    lines.push_back(std::move(line));
  }
  if (!lines.empty() || !at.pod.pod->spec.node_affinity || !at.pod.pod->spec.node_affinity->required)
    return lines;
  // Pods of DaemonSets: one term with the name of the node.
  for (const api::NodeSelectorTerm& term : at.pod.pod->spec.node_affinity->required->terms) {
    for (const api::NodeSelectorRequirement& field : term.match_fields)
      lines.push_back(fmt::format("requires {} {} ({})", field.key, field.op, fmt::join(field.values, ", ")));
    if (lines.size() >= kFewLines) break;
  }
  return lines;
}

// The resource of a reason of NodeResourcesFit; empty: it is of no resource.
std::string ResourceOf(std::string_view reason) {
  constexpr std::string_view kInsufficient = "Insufficient ";
  if (reason == "Too many pods") return "pods";
  return reason.starts_with(kInsufficient) ? std::string(reason.substr(kInsufficient.size())) : "";
}

// The amounts of the nearest nodes, and the range of the others.
Lines ResourceValues(const Situation& at, const Obstacle& obstacle, const RowSet& rows) {
  struct Miss {
    Row row;
    Shortage shortage;
  };
  const std::string resource = ResourceOf(obstacle.reason);
  std::vector<Miss> misses;
  for (const Row row : RowsByName(at, rows)) {
    if (const auto shortage = ShortageOf(at, row, resource)) misses.push_back({row, *shortage});
  }
  if (misses.empty()) return {};
  std::ranges::stable_sort(misses, {}, [](const Miss& miss) { return miss.shortage.missing(); });
  if (resource == "pods") {
    std::vector<std::string> texts;
    for (const Miss& miss : misses)
      texts.push_back(fmt::format("{} runs {} of at most {}", at.nodes().name(miss.row),
                                  miss.shortage.total - miss.shortage.free, miss.shortage.total));
    return {Some(texts)};
  }
  const auto amount = [&](std::int64_t value) { return AmountText(resource, value); };
  std::vector<std::string> texts;
  for (const Miss& miss : misses) {
    if (texts.size() == kFewNames) break;
    texts.push_back(fmt::format("{} lacks {} ({} of {} free)", at.nodes().name(miss.row),
                                amount(miss.shortage.missing()), amount(miss.shortage.free),
                                amount(miss.shortage.total)));
  }
  std::string line =
      fmt::format("requests {}; {}", amount(misses.front().shortage.request), fmt::join(texts, ", "));
  if (misses.size() > kFewNames) {
    const std::string least = amount(misses[kFewNames].shortage.missing());
    const std::string most = amount(misses.back().shortage.missing());
    const std::size_t more = misses.size() - kFewNames;
    line += fmt::format("; {} more {} {}", more, more == 1 ? "lacks" : "lack",
                        least == most ? least : fmt::format("{} to {}", least, most));
  }
  return {line};
}

Lines SpreadValues(const Situation& at, const Obstacle&, const RowSet& rows) {
  Lines lines;
  for (const SpreadState& state : SpreadStates(at)) {
    RowSet without(at.nodes().rows());
    std::set<std::string> full;
    rows.ForEach([&](std::size_t row) {
      const api::Node& node = at.nodes().node(static_cast<Row>(row));
      const std::string* value = node.metadata.labels.Find(state.key);
      if (value == nullptr) without.Add(row);
      if (value != nullptr && state.SkewOn(node) > state.max_skew) full.insert(*value);
    });
    if (!without.Empty())
      lines.push_back(fmt::format("no label {} on {}", state.key, Nodes(without.Count())));
    if (full.empty()) continue;
    std::vector<std::pair<std::string, std::int64_t>> domains(state.counts.begin(), state.counts.end());
    std::ranges::stable_sort(domains, {}, [](const auto& domain) { return domain.second; });
    constexpr std::size_t kDomains = 6;
    std::vector<std::string> counts;
    for (const auto& [value, count] : domains) {
      if (counts.size() == kDomains) {
        counts.push_back(
            fmt::format("{} more with up to {}", domains.size() - kDomains, domains.back().second));
        break;
      }
      counts.push_back(fmt::format("{}: {}", value, count));
    }
    std::int64_t skew = 0;
    for (const std::string& value : full)
      skew = std::max(skew, state.counts.at(value) + state.self - state.minimum);
    lines.push_back(
        fmt::format("matching pods by {}: {}; with this pod the skew in {} would be {}, maxSkew is {}",
                    state.key, fmt::join(counts, ", "),
                    Some(std::vector<std::string>(full.begin(), full.end())), skew, state.max_skew));
  }
  return lines;
}

std::string PodsOn(const std::vector<api::PodPtr>& pods) {
  std::vector<std::string> texts;
  for (const api::PodPtr& pod : pods)
    texts.push_back(fmt::format("{} on {}", pod->metadata.Key(), pod->spec.node_name.str()));
  return Some(texts);
}

Lines AffinityValues(const Situation& at, const Obstacle& obstacle, const RowSet& rows) {
  if (obstacle.reason != "node(s) didn't match pod affinity rules") {
    // One node is enough as an example: the search reads all pods.
    const Row first = RowsByName(at, rows).front();
    const std::vector<api::PodPtr> conflicts = AntiAffinityConflicts(at, first);
    if (conflicts.empty()) return {};
    Lines lines{fmt::format("{} is kept free by {}", at.nodes().name(first), PodsOn(conflicts))};
    if (at.pod.use().affinity == nullptr) return lines;
    for (const auto& term : at.pod.use().affinity->required_anti) {
      if (lines.size() == kFewLines) break;
      lines.push_back(fmt::format("the pod excludes {} in the same {}", TermText(*term),
                                  at.symbols.KeyText(term->topology_key)));
    }
    return lines;
  }
  Lines lines;
  if (at.pod.use().affinity == nullptr) return lines;
  for (const auto& term : at.pod.use().affinity->required) {
    if (lines.size() == kFewLines) break;
    const RowSet with = RowsOfAffinity(at, *term);
    const std::string& key = at.symbols.KeyText(term->topology_key);
    std::vector<std::string> domains;
    for (const auto& [value, count] : LabelValues(at.nodes(), with, key)) domains.push_back(value);
    lines.push_back(domains.empty()
                        ? fmt::format("no pod on a node with label {} matches {}", key, TermText(*term))
                        : fmt::format("pods with {} run only in {} {}", TermText(*term), key, Some(domains)));
  }
  return lines;
}

Lines PortValues(const Situation& at, const Obstacle&, const RowSet& rows) {
  Lines lines;
  std::vector<std::string> ports;
  cluster::AnyHostPort(*at.pod.pod, [&](const api::ContainerPort& port) {
    ports.push_back(fmt::format("{}/{}", port.host_port, port.protocol.empty() ? "TCP" : port.protocol));
    return false;
  });
  const std::vector<Row> sorted = RowsByName(at, rows);
  std::vector<api::PodPtr> conflicts;
  for (std::size_t i = 0; i < std::min(sorted.size(), kFewNames); ++i) {
    for (const api::PodPtr& pod : HostPortConflicts(at, sorted[i])) conflicts.push_back(pod);
  }
  lines.push_back(conflicts.empty()
                      ? fmt::format("host ports {}", fmt::join(ports, ", "))
                      : fmt::format("host ports {}: taken by {}", fmt::join(ports, ", "), PodsOn(conflicts)));
  return lines;
}

Lines VolumeValuesOf(const Situation& at, const Obstacle&, const RowSet&) {
  Lines lines = VolumeValues(at);
  if (lines.size() > kFewLines) lines.resize(kFewLines);
  return lines;
}

// What the plugin itself adds to its reasons.
Lines DetailValues(const Situation& at, const RowSet& rows) {
  std::map<std::string, RowSet> by_text;
  for (const framework::RejectionDetail& detail : at.obstacles.details) {
    RowSet affected = detail.rows;
    affected &= rows;
    if (!affected.Empty()) {
      RowSet& all = by_text.try_emplace(fmt::format("{}", fmt::join(detail.lines, "; ")), at.nodes().rows())
                        .first->second;
      all |= affected;
    }
  }
  return ByFrequency(at, by_text, rows.Count());
}

}  // namespace

std::vector<std::string> DecidingValues(const Situation& at, const Obstacle& obstacle, const RowSet& rows) {
  for (const Source& source : kSources) {
    if (source.plugin == obstacle.plugin) return source.values(at, obstacle, rows);
  }
  return DetailValues(at, rows);
}

std::vector<std::string> DecidingValuesOfPod(const Situation& at) {
  Lines lines;
  for (const framework::RejectionDetail& detail : at.obstacles.details)
    lines.insert(lines.end(), detail.lines.begin(), detail.lines.end());
  for (std::string& line : VolumeValues(at)) lines.push_back(std::move(line));
  return lines;
}

}  // namespace berth::explanation
