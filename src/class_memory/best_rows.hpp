// The rows with the highest total, found without looking at all of them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/row_set.hpp"

namespace berth::class_memory {

// Totals by row in blocks, of each of which the best is known with the number of rows that have it. Changing
// a total marks its block; whoever asks pays for the marked blocks and a glance at the others.
class BestRows {
 public:
  static constexpr std::int32_t kOut = INT32_MIN;  // of rows that do not take part

  // All rows, none of which takes part.
  void Reset(std::size_t rows);
  void Set(std::size_t row, std::int32_t total) {
    totals_[row] = total;
    stale_.Add(row / kBlock);
  }
  std::int32_t total(std::size_t row) const { return totals_[row]; }

  // At least one row must take part. How many have the highest total?
  std::size_t Count();
  // Of these the one before which there are `skip`, by number of row.
  std::size_t Nth(std::size_t skip);
  // All of them.
  RowSet All();

 private:
  static constexpr std::size_t kBlock = 64;
  void Refresh();

  std::vector<std::int32_t> totals_;  // whole blocks
  std::vector<std::int32_t> best_;    // by block
  std::vector<std::uint32_t> ties_;   // by block: rows with its best
  RowSet stale_;                      // blocks
  std::size_t rows_ = 0;
};

}  // namespace berth::class_memory
