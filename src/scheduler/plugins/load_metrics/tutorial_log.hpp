// Per-node log lines of the tutorials' plugins.
#pragma once

#include "base/row_set.hpp"
#include "observability/log/log.hpp"

namespace berth::plugins {

// In small clusters the lines are written as in the tutorials. In larger ones, where one pod would fill the
// log, they require -v=4.
inline bool LogsEachNode(const RowSet& feasible) {
  constexpr std::size_t kFew = 10;
  return log::V(4) || feasible.Count() <= kFew;
}

}  // namespace berth::plugins
