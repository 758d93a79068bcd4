// Vectorized score of LoadAware's forecast, in blocks of 64 rows.
#pragma once

#include <cstdint>
#include <span>

#include "base/row_set.hpp"
#include "base/vectorized.hpp"

namespace berth::plugins {

// One resource of a scheduling attempt. Columns by row; numbers are finite and not negative.
struct ForecastAxis {
  std::span<const float> expected;          // percent of the node, without the pod
  std::span<const float> percent_per_unit;  // of the pod's forecast
  float own = 0;                            // the pod's forecast
  float share = 1;                          // of the total weight
};

// Writes the sum of `base` and of share * score of each resource, rounded down; the score is 100 minus the
// expected percent with the pod, between 0 and 100. Sums are at most 100; a thousandth is added before they
// are rounded, because shares are not exact. Fills `out` for the feasible rows; other rows of the same blocks
// are overwritten, too. There are one or two axes; all columns have the length of `out`.
void ScoreForecast(std::span<const float> base, std::span<const ForecastAxis> axes, const RowSet& feasible,
                   std::span<std::uint8_t> out, VectorLevel level = BestVectorLevel());

}  // namespace berth::plugins
