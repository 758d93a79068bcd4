// The rows with the highest total, found without looking at all of them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/row_set.hpp"

namespace berth::class_memory {

// A tree over the totals by row: each of its nodes knows the best of sixteen below it and how many rows have
// it. Changing a total marks what is above it; whoever asks pays for what is marked.
class BestRows {
 public:
  static constexpr std::int32_t kOut = INT32_MIN;  // of rows that do not take part

  // All rows, none of which takes part.
  void Reset(std::size_t rows);
  void Set(std::size_t row, std::int32_t total) {
    const std::int32_t before = std::exchange(totals_[row], total);
    // Below the best nothing changes. (One that is stale may be off, but is looked at again anyway.)
    Level& level = levels_.front();
    const std::size_t group = row / kFan;
    if (before < level.best[group] && total < level.best[group]) return;
    if (before != total) level.stale.Add(group);
  }

  // At least one row must take part. How many have the highest total?
  std::size_t Count();
  // Of these the one before which there are `skip`, by number of row.
  std::size_t Nth(std::size_t skip);
  // All of them.
  RowSet All();

 private:
  static constexpr std::size_t kFan = 16;
  struct Level {
    std::vector<std::int32_t> best;  // whole groups of kFan, but on the topmost level, which is one
    std::vector<std::uint32_t> ties;
    RowSet stale;  // to be looked at again
  };
  void Refresh();

  std::size_t rows_ = 0;
  std::vector<std::int32_t> totals_;  // whole groups
  std::vector<Level> levels_;         // the lowest first
};

}  // namespace berth::class_memory
