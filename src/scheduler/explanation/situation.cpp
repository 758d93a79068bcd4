#include "scheduler/explanation/situation.hpp"

#include <algorithm>

namespace berth::explanation {

std::vector<cluster::Row> RowsByName(const cluster::NodeTable& nodes, const RowSet& rows) {
  std::vector<cluster::Row> sorted;
  rows.ForEach([&](std::size_t row) { sorted.push_back(static_cast<cluster::Row>(row)); });
  std::ranges::sort(sorted, {}, [&](cluster::Row row) -> const std::string& { return nodes.name(row); });
  return sorted;
}

std::vector<std::string> NamesOfRows(const cluster::NodeTable& nodes, const RowSet& rows) {
  std::vector<std::string> names;
  for (const cluster::Row row : RowsByName(nodes, rows)) names.push_back(nodes.name(row));
  return names;
}

}  // namespace berth::explanation
