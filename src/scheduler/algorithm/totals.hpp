// Vectorized computation of total scores and their maximum; private to this module.
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

// Adds the rows of `feasible` with the highest total to `best`, which must have the size of the table.
void AddBest(std::span<const std::int64_t> totals, const RowSet& feasible, RowSet& best,
             VectorLevel level = BestVectorLevel());

// The scores of one plugin and their weight.
struct WeightedScores {
  std::span<const std::uint8_t> scores;  // 0 to 100 for feasible rows
  std::int64_t weight = 1;
};
// Whether AddBestByScores can be used: all sums fit in 16 bits.
bool AreLight(std::span<const WeightedScores> parts);
// As AddBest for the weighted sums, without storing 64-bit totals. `totals` is scratch.
void AddBestByScores(std::span<const WeightedScores> parts, const RowSet& feasible, std::size_t rows,
                     std::vector<std::uint16_t>& totals, RowSet& best, VectorLevel level = BestVectorLevel());

}  // namespace berth::algorithm
