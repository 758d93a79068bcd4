// Sets of rows and numbers in the saved states of plugins.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/row_set.hpp"
#include "base/shared_text.hpp"
#include "scheduler/cluster/node_table.hpp"

namespace berth::plugins {

inline std::vector<cluster::Row> RowsIn(const RowSet& set) {
  std::vector<cluster::Row> rows;
  set.ForEach([&](std::size_t row) { rows.push_back(static_cast<cluster::Row>(row)); });
  return rows;
}

// Rows beyond the table are an error, which names the member.
inline Expected<RowSet> RowSetOf(const std::vector<cluster::Row>& rows, const cluster::NodeTable& nodes,
                                 std::string_view member) {
  RowSet set;
  for (const cluster::Row row : rows) {
    if (row >= nodes.rows()) return Invalid(std::string(member) + ": expected rows of the node table");
    set.Add(row);
  }
  return set;
}

inline bool AreBetween(double least, std::span<const double> numbers, double most) {
  return std::ranges::all_of(numbers, [&](double number) { return least <= number && number <= most; });
}
// A measurement, or NaN: unknown.
inline bool IsValue(double number) { return !std::isinf(number); }

// The UID of a pod on a node, for a saved state: keeps the pod.
inline SharedText UidOf(const cluster::PlacedPod& pod) { return {pod.pod, &pod.pod->metadata.uid}; }

// The pod with this UID on the row; null if there is none.
inline const cluster::PlacedPod* FindOnRow(const cluster::NodeTable& nodes, cluster::Row row,
                                           std::string_view uid) {
  if (row >= nodes.rows()) return nullptr;
  const auto pods = nodes.pods(row);
  const auto found =
      std::ranges::find_if(pods, [&](const auto* pod) { return pod->pod->metadata.uid == uid; });
  return found == pods.end() ? nullptr : *found;
}

}  // namespace berth::plugins
