// For tests of kernels: all vector levels that this machine supports.
#pragma once

#include <vector>

#include "base/vectorized.hpp"

namespace berth::testing {

inline std::vector<VectorLevel> RunnableLevels() {
  std::vector<VectorLevel> levels;
  for (const VectorLevel level : {VectorLevel::kBaseline, VectorLevel::kAvx2, VectorLevel::kAvx512}) {
    if (level <= BestVectorLevel()) levels.push_back(level);
  }
  return levels;
}

}  // namespace berth::testing
