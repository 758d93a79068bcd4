// The arithmetic of the choice, over all rows at once. Compiled for speed; private to this module.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/row_set.hpp"
#include "base/vectorized.hpp"

namespace berth::algorithm {

// totals[i] += weight * scores[i].
void AddWeighted(std::span<const std::uint8_t> scores, std::uint32_t weight, std::span<std::int64_t> totals,
                 VectorLevel level = BestVectorLevel());

// Adds the rows of `feasible` with the highest total to `best`, which has room for as many rows.
void AddBest(std::span<const std::int64_t> totals, const RowSet& feasible, RowSet& best,
             VectorLevel level = BestVectorLevel());

// One plugin's part of the totals.
struct WeightedScores {
  std::span<const std::uint8_t> scores;  // 0 to 100 where feasible
  std::int64_t weight = 1;
};
// May AddBestByScores be used?
bool AreLight(std::span<const WeightedScores> parts);
// AddBest of the sums, which fit in 16 bits, without writing them down. `totals` is scratch.
void AddBestByScores(std::span<const WeightedScores> parts, const RowSet& feasible, std::size_t rows,
                     std::vector<std::uint16_t>& totals, RowSet& best, VectorLevel level = BestVectorLevel());

}  // namespace berth::algorithm
