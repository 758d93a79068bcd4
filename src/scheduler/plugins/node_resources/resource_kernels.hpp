// Vectorized arithmetic of the resource plugins, in blocks of 64 rows. Exact: every result equals that of
// kube-scheduler's integer and float64 operations. Rows with numbers too large for the fast method, and some
// adjacent rows, are returned to the caller.
#pragma once

#include <cstdint>
#include <span>

#include "base/row_set.hpp"
#include "base/vectorized.hpp"

namespace berth::plugins {

// Adds the candidates with less than `request` free to `out`, and those that could not fit it even if empty
// to `never`. The columns have equal length, and the sets have room for it.
void AddInsufficient(std::int64_t request, std::span<const std::int64_t> allocatable,
                     std::span<const std::int64_t> requested, const RowSet& candidates, RowSet& out,
                     RowSet& never, VectorLevel level = BestVectorLevel());

// Adds the candidates that cannot take another pod.
void AddCrowded(std::span<const std::int64_t> pods, std::span<const std::int64_t> allowed,
                const RowSet& candidates, RowSet& out, VectorLevel level = BestVectorLevel());

// One resource of a scheduling attempt: its columns, the pod's request and the weight.
struct ResourceAxis {
  std::span<const std::int64_t> capacity;
  std::span<const double> inverse;  // SmallInverse(capacity), by row; empty: it is computed
  std::span<const std::int64_t> used;
  std::int64_t request = 0;
  std::int64_t weight = 1;
};

inline constexpr std::int64_t kMaxWeightSum = 1 << 20;
enum class Allocation { kLeast, kMost };

// Writes the weighted mean of free (kLeast) or used (kMost) resources, in percent; a resource with zero
// capacity is excluded on that node. Weights must be positive with a sum of at most kMaxWeightSum. Fills
// `out` for the feasible rows except those added to `left`: rows with numbers that are negative or at least
// 2^44, and rows in the same block.
void ScoreAllocation(Allocation strategy, std::span<const ResourceAxis> axes, const RowSet& feasible,
                     std::span<std::uint8_t> out, RowSet& left, VectorLevel level = BestVectorLevel());

// Writes the change of balance between two fractions. As above; the limit is 2^50.
void ScoreBalance(const ResourceAxis& a, const ResourceAxis& b, const RowSet& feasible,
                  std::span<std::uint8_t> out, RowSet& left, VectorLevel level = BestVectorLevel());

}  // namespace berth::plugins
