#include "scheduler/explanation/node_requirements.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/nearest.hpp"
#include "kubernetes/api/selectors.hpp"

namespace berth::explanation {

std::string NodeRequirement::Text() const {
  if (spec.op == "In" && spec.values.size() == 1) return fmt::format("{}={}", spec.key, spec.values.front());
  if (spec.values.empty()) return fmt::format("{} {}", spec.key, spec.op);
  return fmt::format("{} {} ({})", spec.key, spec.op, fmt::join(spec.values, ", "));
}

namespace {

// A function that tells whether a node matches. Parses the requirement once, since it may be called for all
// nodes. The requirement must outlive it.
auto MatcherOf(const NodeRequirement& requirement) {
  return [&requirement,
          parsed = api::ParseNodeRequirement(requirement.spec, "", nullptr)](const api::Node& node) {
    const std::string* value = node.metadata.labels.Find(requirement.spec.key);
    if (!requirement.term) return value != nullptr && *value == requirement.spec.values.front();
    return parsed && parsed->Matches(value);
  };
}

}  // namespace

bool NodeRequirement::Matches(const api::Node& node) const { return MatcherOf(*this)(node); }

RowSet NodeRequirement::FailingRows(const cluster::NodeTable& nodes, const RowSet& rows) const {
  RowSet failing(nodes.rows());
  const auto matches = MatcherOf(*this);
  rows.ForEach([&](std::size_t row) {
    if (!matches(nodes.node(static_cast<cluster::Row>(row)))) failing.Add(row);
  });
  return failing;
}

std::vector<NodeRequirement> NodeRequirements(const api::Pod& pod) {
  std::vector<NodeRequirement> all;
  for (const auto& [key, value] : pod.spec.node_selector)
    all.push_back({.term = std::nullopt, .index = 0, .spec = {key, "In", {value}}});
  if (!pod.spec.node_affinity || !pod.spec.node_affinity->required) return all;
  const auto& terms = pod.spec.node_affinity->required->terms;
  for (std::size_t term = 0; term < terms.size(); ++term) {
    for (std::size_t i = 0; i < terms[term].match_expressions.size(); ++i)
      all.push_back({.term = term, .index = i, .spec = terms[term].match_expressions[i]});
  }
  return all;
}

std::vector<NodeRequirement> FailedRequirements(const api::Pod& pod, const api::Node& node) {
  std::vector<NodeRequirement> failed;
  std::map<std::size_t, std::vector<NodeRequirement>> by_term;
  for (NodeRequirement& requirement : NodeRequirements(pod)) {
    if (requirement.term) by_term[*requirement.term];  // also a term without failures
    if (requirement.Matches(node)) continue;
    auto& list = requirement.term ? by_term[*requirement.term] : failed;
    list.push_back(std::move(requirement));
  }
  if (by_term.empty()) return failed;
  const auto& fewest =
      std::ranges::min_element(by_term, {}, [](const auto& term) { return term.second.size(); })->second;
  failed.insert(failed.end(), fewest.begin(), fewest.end());
  return failed;
}

std::vector<std::pair<std::string, std::size_t>> LabelValues(const cluster::NodeTable& nodes,
                                                             const RowSet& rows, const std::string& key) {
  std::map<std::string, std::size_t> counts;
  rows.ForEach([&](std::size_t row) {
    const std::string* value = nodes.node(static_cast<cluster::Row>(row)).metadata.labels.Find(key);
    if (value != nullptr) ++counts[*value];
  });
  std::vector<std::pair<std::string, std::size_t>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, std::greater<>{}, [](const auto& entry) { return entry.second; });
  return sorted;
}

std::string NearestValue(const cluster::NodeTable& nodes, const NodeRequirement& requirement) {
  if (requirement.spec.op != "In") return "";
  constexpr int kMostTried = 4;  // values: each is compared with all that exist, and a pod may have thousands
  std::vector<std::string> existing;
  std::set<std::string> known;
  for (const auto& [value, count] : LabelValues(nodes, nodes.all(), requirement.spec.key)) {
    if (!value.empty()) existing.push_back(value);
    known.insert(value);
  }
  int tried = 0;
  for (const std::string& value : requirement.spec.values) {
    if (value.empty() || known.contains(value)) continue;
    if (++tried > kMostTried) break;
    // Of values at the same distance, one with the same first letter is more likely meant: ssd for sdd, not
    // hdd.
    std::ranges::stable_sort(existing, {},
                             [&](const std::string& other) { return other.front() != value.front(); });
    if (std::string nearest = Nearest(value, existing); !nearest.empty()) return nearest;
  }
  return "";
}

std::string NearestKey(const std::vector<std::string>& keys, const NodeRequirement& requirement) {
  if (std::ranges::binary_search(keys, requirement.spec.key)) return "";
  return Nearest(requirement.spec.key, keys);
}

}  // namespace berth::explanation
