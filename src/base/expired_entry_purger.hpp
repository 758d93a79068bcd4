// When to look through a table for what nobody needs any more.
#pragma once

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>

namespace berth {

// For tables of things that others hold, and let go of without a word. Looking through the table each time it
// has doubled keeps it within twice what is in use, and costs little for each thing added.
class ExpiredEntryPurger {
 public:
  // Call after adding. Removes the entries of a Boost.Unordered table for which is_gone(entry), if it is
  // time.
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
