// Vectorized score of LoadAware's forecast, in blocks of 64 rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/row_set.hpp"
#include "base/vectorized.hpp"

namespace berth::plugins {

// The numbers of 64 rows, finite. A point is one of the 100 of a score.
struct ForecastBlock {
  static constexpr std::size_t kLanes = 4;
  // By row % 4 and row / 4: scores of adjacent rows are computed in different vectors, which are then
  // combined by shifts. Narrowing one vector of adjacent rows to bytes costs more.
  using Column = float[kLanes][kBlockRows / kLanes];
  static float& At(Column& column, std::size_t row) {
    return column[row % kLanes][row % kBlockRows / kLanes];
  }

  struct Axis {
    Column room = {};             // points without the pod; of the first axis, with `base` added
    Column points_per_unit = {};  // lost by the pod's forecast, not negative
  };
  alignas(kBlockRows) Column base = {};  // points that do not depend on the pod
  Axis axes[2];
};

// Writes the sum of `base` and of the points that are left on each axis with the pod, at least 0 each,
// rounded down. `own`: the pod's forecast by axis, one or two. Sums must be between 0 and 255. Fills `out`
// for the feasible rows; other rows of the same blocks are overwritten, too. The blocks must cover `out`.
void ScoreForecast(std::span<const ForecastBlock> blocks, std::span<const float> own, const RowSet& feasible,
                   std::span<std::uint8_t> out, VectorLevel level = BestVectorLevel());

}  // namespace berth::plugins
