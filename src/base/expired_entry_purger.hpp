// Decides when to purge unused entries from a table.
#pragma once

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>

namespace berth {

// For tables of weak references. Purging each time the table has doubled keeps it within twice the number of
// live entries, at amortized constant cost per insertion.
class ExpiredEntryPurger {
 public:
  // Call after each insertion. Removes the entries of a Boost.Unordered table for which is_gone(entry) is
  // true, if a purge is due.
  template <class Table, class Predicate>
  void Grown(Table& table, Predicate is_gone) {
    if (table.size() <= at_) return;
    boost::unordered::erase_if(table, is_gone);
    at_ = std::max(kMin, 2 * table.size());
  }

 private:
  static constexpr std::size_t kMin = 1024;
  std::size_t at_ = kMin;
};

}  // namespace berth
