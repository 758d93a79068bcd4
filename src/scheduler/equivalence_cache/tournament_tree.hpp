// A tournament tree that finds the rows with the highest total.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/row_set.hpp"
#include "base/vectorized.hpp"

namespace berth::equivalence_cache {

// Each tree node stores the maximum of its sixteen children and the number of rows that have it. An update
// costs one step per level, plus a scan of sixteen entries where the last row with the maximum drops out.
class TournamentTree {
 public:
  static constexpr std::int32_t kExcluded = INT32_MIN;  // total of rows that do not take part

  // Sets the number of rows; no row takes part.
  void Reset(std::size_t rows);
  void Set(std::size_t row, std::int32_t total);

  // What one plugin adds to the totals.
  struct Part {
    std::span<const std::uint8_t> scores;  // by row, of all rows
    std::int32_t weight = 1;
  };
  // Sets the total of each row of `rows` to its weighted sum; the others do not take part. Cheaper than
  // single updates if there are many.
  void SetAll(const RowSet& rows, std::span<const Part> parts, VectorLevel level = BestVectorLevel());

  // The number of rows with the highest total. Requires that a row takes part.
  std::size_t Count() const { return levels_.back().front().ties; }
  // Of these rows in ascending order, the one at index `skip`.
  std::size_t Nth(std::size_t skip) const;
  // All of these rows.
  RowSet All() const;

 private:
  static constexpr std::size_t kFan = 16;
  struct Group {
    std::int32_t best = kExcluded;
    std::uint32_t ties = 0;  // number of rows with this total
    friend bool operator==(const Group&, const Group&) = default;
  };
  struct SummaryKernel;
  struct TotalsKernel;

  Group Summarize(std::size_t level, std::size_t at) const;

  std::size_t rows_ = 0;
  std::vector<std::int32_t> totals_;        // padded to whole blocks
  std::vector<std::vector<Group>> levels_;  // lowest first; padded to whole groups; the last has one entry
};

}  // namespace berth::equivalence_cache
