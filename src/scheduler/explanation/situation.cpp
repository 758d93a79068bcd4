#include "scheduler/explanation/situation.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace berth::explanation {
namespace {

// A pod can request a thousand resources, and each of them is an obstacle with a reason of its own. One pass
// over the obstacles replaces one per node and resource.
std::vector<RowSet> FindInsufficient(const cluster::PodInfo& pod, const cluster::SymbolTable& symbols,
                                     const Obstacles& obstacles) {
  std::map<std::string_view, RowSet> by_reason;
  for (const Obstacle& obstacle : obstacles.all) {
    if (obstacle.plugin == "NodeResourcesFit") by_reason[obstacle.reason] |= obstacle.rows;
  }
  std::vector<RowSet> insufficient;
  for (const auto& [resource, request] : pod.fit().scalars) {
    const auto found = by_reason.find("Insufficient " + symbols.ResourceName(resource));
    insufficient.push_back(found == by_reason.end() ? RowSet() : found->second);
  }
  return insufficient;
}

std::vector<std::string> FindLabelKeys(const cluster::NodeTable& nodes) {
  std::set<std::string_view> keys;
  nodes.all().ForEach([&](std::size_t row) {
    for (const auto& [key, value] : nodes.node(static_cast<cluster::Row>(row)).metadata.labels)
      keys.insert(key);
  });
  return {keys.begin(), keys.end()};
}

}  // namespace

Lookups FindLookups(const cluster::PodInfo& pod, const cluster::NodeTable& nodes,
                    const cluster::SymbolTable& symbols, const Obstacles& obstacles) {
  const bool selects =
      std::ranges::find(obstacles.all, "NodeAffinity", &Obstacle::plugin) != obstacles.all.end();
  return {FindInsufficient(pod, symbols, obstacles),
          selects ? FindLabelKeys(nodes) : std::vector<std::string>()};
}

std::vector<cluster::Row> RowsByName(const Situation& at, const RowSet& rows) {
  std::vector<cluster::Row> sorted;
  for (const cluster::Row row : at.by_name) {
    if (rows.Has(row)) sorted.push_back(row);
  }
  return sorted;
}

std::vector<std::string> NamesOfRows(const Situation& at, const RowSet& rows) {
  std::vector<std::string> names;
  for (const cluster::Row row : RowsByName(at, rows)) names.push_back(at.nodes().name(row));
  return names;
}

}  // namespace berth::explanation
