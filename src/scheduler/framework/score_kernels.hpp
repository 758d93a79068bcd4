// What is done to whole columns of scores, in blocks of 64 rows. Rows that are not feasible may hold
// anything, and have no say.
#pragma once

#include <cstdint>
#include <span>

#include "base/row_set.hpp"
#include "base/vectorized.hpp"

namespace berth::framework {

// The highest byte of all rows, and that of the feasible ones; 0 if there are none.
std::uint8_t MaxByte(std::span<const std::uint8_t> values, VectorLevel level = BestVectorLevel());
std::uint8_t MaxByte(std::span<const std::uint8_t> values, const RowSet& feasible,
                     VectorLevel level = BestVectorLevel());

// 100 * value / maximum, or what is left of it to 100, for feasible rows; their values are at most `maximum`,
// which is not 0.
void ScaleBytes(std::span<std::uint8_t> values, std::uint8_t maximum, bool reverse,
                VectorLevel level = BestVectorLevel());

struct WideRange {
  std::uint64_t bits = 0;    // set in any of the feasible values
  std::int64_t maximum = 0;  // of the feasible values and 0
};
WideRange RangeOf(std::span<const std::int64_t> values, const RowSet& feasible,
                  VectorLevel level = BestVectorLevel());

// As ScaleBytes, into `out`. 0 <= value <= maximum < 2^43.
inline constexpr int kScaleBits = 43;
void ScaleWide(std::span<const std::int64_t> values, const RowSet& feasible, std::int64_t maximum,
               bool reverse, std::span<std::uint8_t> out, VectorLevel level = BestVectorLevel());

// The lowest byte of each value. Returns the bits set in any of the feasible values.
std::uint64_t LowestBytes(std::span<const std::int64_t> values, const RowSet& feasible,
                          std::span<std::uint8_t> out, VectorLevel level = BestVectorLevel());

// Sets the rows of `rows` to `value`.
void SetBytes(std::span<std::uint8_t> values, const RowSet& rows, std::uint8_t value,
              VectorLevel level = BestVectorLevel());
// Adds `value` to the rows of `rows`; the sums are bytes.
void AddToBytes(std::span<std::uint8_t> values, const RowSet& rows, std::uint8_t value,
                VectorLevel level = BestVectorLevel());

}  // namespace berth::framework
