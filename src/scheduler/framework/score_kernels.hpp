// Vectorized operations on score columns, in blocks of 64 rows. The values of rows that are not feasible are
// undefined and do not affect the results.
#pragma once

#include <cstdint>
#include <span>

#include "base/row_set.hpp"
#include "base/vectorized.hpp"

namespace berth::framework {

// The fastest level for a kernel that calls SpreadBits, on a machine that supports `level`.
VectorLevel ForSpread(VectorLevel level);

// The maximum over all rows, or over the feasible ones; 0 if there are none.
std::uint8_t MaxByte(std::span<const std::uint8_t> values, VectorLevel level = BestVectorLevel());
std::uint8_t MaxByte(std::span<const std::uint8_t> values, const RowSet& feasible,
                     VectorLevel level = BestVectorLevel());

// Sets each value to 100 * value / maximum, or to 100 minus that if `reverse`. Values of feasible rows must
// be at most `maximum`, which must not be 0.
void ScaleBytes(std::span<std::uint8_t> values, std::uint8_t maximum, bool reverse,
                VectorLevel level = BestVectorLevel());

struct WideRange {
  std::uint64_t bits = 0;    // bitwise or of the feasible values
  std::int64_t maximum = 0;  // of the feasible values; at least 0
};
WideRange RangeOf(std::span<const std::int64_t> values, const RowSet& feasible,
                  VectorLevel level = BestVectorLevel());

// As ScaleBytes, written to `out`. Requires 0 <= value <= maximum < 2^43.
inline constexpr int kScaleBits = 43;
void ScaleWide(std::span<const std::int64_t> values, const RowSet& feasible, std::int64_t maximum,
               bool reverse, std::span<std::uint8_t> out, VectorLevel level = BestVectorLevel());

// Writes the lowest byte of each value to `out`. Returns the bitwise or of the feasible values.
std::uint64_t LowestBytes(std::span<const std::int64_t> values, const RowSet& feasible,
                          std::span<std::uint8_t> out, VectorLevel level = BestVectorLevel());

// Sets the rows of `rows` to `value`.
void SetBytes(std::span<std::uint8_t> values, const RowSet& rows, std::uint8_t value,
              VectorLevel level = BestVectorLevel());
// Adds `value` to the rows of `rows`; the sums must fit into a byte.
void AddToBytes(std::span<std::uint8_t> values, const RowSet& rows, std::uint8_t value,
                VectorLevel level = BestVectorLevel());

}  // namespace berth::framework
