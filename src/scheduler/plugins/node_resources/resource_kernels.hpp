// The arithmetic of the resource plugins over all rows at once, in blocks of 64 rows. Exact: every answer is
// the one that the original's integer and float64 steps give. Rows with numbers too large for the fast way,
// and some beside them, are named and left to whoever asked.
#pragma once

#include <cstdint>
#include <span>

#include "base/row_set.hpp"
#include "base/vectorized.hpp"

namespace berth::plugins {

// Adds the candidates that lack `request`, and to `never` those of them that could not hold it if they were
// empty. The columns are equally long, and the sets have room for them.
void AddInsufficient(std::int64_t request, std::span<const std::int64_t> allocatable,
                     std::span<const std::int64_t> requested, const RowSet& candidates, RowSet& out,
                     RowSet& never, VectorLevel level = BestVectorLevel());

// Adds the candidates with no room for another pod, likewise.
void AddCrowded(std::span<const std::int64_t> pods, std::span<const std::int64_t> allowed,
                const RowSet& candidates, RowSet& out, VectorLevel level = BestVectorLevel());

// One resource of a decision: its columns and what the pod adds.
struct ResourceAxis {
  std::span<const std::int64_t> capacity;
  std::span<const std::int64_t> used;
  std::int64_t request = 0;
  std::int64_t weight = 1;
};

inline constexpr std::int64_t kMaxWeightSum = 1 << 20;
enum class Allocation { kLeast, kMost };

// The weighted mean of what is free (kLeast) or taken (kMost), in percent; a resource of which a node has
// nothing does not count there. Weights are positive and at most kMaxWeightSum together. Fills `out` for the
// feasible rows but those added to `left`: rows whose numbers are negative or at least 2^45, or that share a
// block with one.
void ScoreAllocation(Allocation strategy, std::span<const ResourceAxis> axes, const RowSet& feasible,
                     std::span<std::uint8_t> out, RowSet& left, VectorLevel level = BestVectorLevel());

// How much more even two fractions get. As above; rows are left from 2^52 on.
void ScoreBalance(const ResourceAxis& a, const ResourceAxis& b, const RowSet& feasible,
                  std::span<std::uint8_t> out, RowSet& left, VectorLevel level = BestVectorLevel());

}  // namespace berth::plugins
