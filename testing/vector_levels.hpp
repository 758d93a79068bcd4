// For tests of kernels: everything that this machine can run.
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
