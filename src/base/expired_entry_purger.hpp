// Decides when to purge unused entries from a table.
#pragma once

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>

namespace berth {

// For tables of weak references. Purging each time the table has doubled, or entries of kBytes (or kBytesEach
// for each entry in use, if that is more) were added, keeps it within twice the number of entries in use, and
// what is no longer in use within these sizes. An insertion examines a number of entries that is proportional
// to its size.
class ExpiredEntryPurger {
 public:
  static constexpr std::size_t kBytes = std::size_t{1} << 20;
  static constexpr std::size_t kBytesEach = 64;

  // Call after each insertion, with the size of the entry. Removes the entries of a Boost.Unordered table for
  // which is_gone(entry) is true, if a purge is due.
  template <class Table, class Predicate>
  void Grown(Table& table, std::size_t bytes, Predicate is_gone) {
    added_ += bytes;
    if (table.size() <= at_ && added_ <= due_) return;
    boost::unordered::erase_if(table, is_gone);
    at_ = std::max(kMin, 2 * table.size());
    due_ = std::max(kBytes, kBytesEach * table.size());
    added_ = 0;
  }

 private:
  static constexpr std::size_t kMin = 1024;
  std::size_t at_ = kMin;
  std::size_t due_ = kBytes;
  std::size_t added_ = 0;  // bytes since the last purge
};

}  // namespace berth
