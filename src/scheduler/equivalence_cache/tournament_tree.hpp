// The rows with the highest total, found without looking at all of them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/row_set.hpp"

namespace berth::equivalence_cache {

// A tree over the totals by row: each of its nodes knows the best of sixteen below it and how many rows have
// it. A total that changes costs a step per level, and a look at sixteen where the last of the best goes.
class TournamentTree {
 public:
  static constexpr std::int32_t kOut = INT32_MIN;  // of rows that do not take part

  // All rows, none of which takes part.
  void Reset(std::size_t rows);
  void Set(std::size_t row, std::int32_t total);
  // Each of the rows gets total_of(row): cheaper than one by one if they are many.
  template <class TotalOf>
  void SetAll(const RowSet& rows, TotalOf&& total_of) {
    rows.ForEach([&](std::size_t row) { totals_[row] = total_of(row); });
    LookAtAll();
  }

  // At least one row must take part. How many have the highest total?
  std::size_t Count() const { return levels_.back().front().ties; }
  // Of these the one before which there are `skip`, by number of row.
  std::size_t Nth(std::size_t skip) const;
  // All of them.
  RowSet All() const;

 private:
  static constexpr std::size_t kFan = 16;
  struct Group {
    std::int32_t best = kOut;
    std::uint32_t ties = 0;  // rows that have it
    friend bool operator==(const Group&, const Group&) = default;
  };
  Group Look(std::size_t level, std::size_t at) const;
  void LookAtAll();

  std::size_t rows_ = 0;
  std::vector<std::int32_t> totals_;  // whole groups
  std::vector<std::vector<Group>>
      levels_;  // the lowest first; whole groups, but for the topmost, which is one
};

}  // namespace berth::equivalence_cache
