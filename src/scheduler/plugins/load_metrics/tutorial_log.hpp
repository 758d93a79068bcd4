// The lines that the tutorials' plugins write for every node of every pod.
#pragma once

#include "base/row_set.hpp"
#include "observability/log/log.hpp"

namespace berth::plugins {

// In clusters of the size that tutorials have they are written as there; beyond, one pod would fill the log,
// and they need -v=4.
inline bool WantsLineForEachNode(const RowSet& feasible) {
  constexpr std::size_t kFew = 10;
  return log::V(4) || feasible.Count() <= kFew;
}

}  // namespace berth::plugins
