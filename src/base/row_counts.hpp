// How often something is used, row by row; nearly always on one row, seldom on a few, hardly ever on all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/row_set.hpp"

namespace berth {

// Sorted by row; rows without use are not listed.
class RowCounts {
 public:
  struct Entry {
    std::uint32_t row = 0;
    std::uint32_t count = 0;
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  // True if it is the row's first use.
  bool Add(std::uint32_t row, std::uint32_t times = 1) {
    const auto at = std::ranges::lower_bound(entries_, row, {}, &Entry::row);
    if (at != entries_.end() && at->row == row) {
      at->count += times;
      return false;
    }
    entries_.insert(at, {row, times});
    return true;
  }
  // True if it was the row's last use. There must be that many.
  bool Remove(std::uint32_t row, std::uint32_t times = 1) {
    const auto at = std::ranges::lower_bound(entries_, row, {}, &Entry::row);
    at->count -= times;
    if (at->count > 0) return false;
    entries_.erase(at);
    return true;
  }
  bool Has(std::uint32_t row) const {
    const auto at = std::ranges::lower_bound(entries_, row, {}, &Entry::row);
    return at != entries_.end() && at->row == row;
  }
  bool Empty() const { return entries_.empty(); }
  void AddTo(RowSet& out) const {
    for (const Entry& entry : entries_) out.Add(entry.row);
  }

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace berth
