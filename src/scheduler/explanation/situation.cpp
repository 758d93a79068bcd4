#include "scheduler/explanation/situation.hpp"

namespace berth::explanation {

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
