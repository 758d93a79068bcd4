// A sparse column of counters.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace berth::cluster {

// Stored as a sorted list while few rows are non-zero, else as a dense column. Thousands of counters over
// thousands of rows stay small, and iteration visits only non-zero rows of a list.
class RowCounts {
 public:
  using Count = std::int32_t;

  void Add(std::uint32_t row, Count amount) {
    total_ += amount;
    if (dense_) {
      if (row >= column_.size()) column_.resize(row + 1);
      rows_with_ += (column_[row] == 0) - (column_[row] + amount == 0);
      column_[row] += amount;
      if (rows_with_ == 0) *this = {};
      return;
    }
    const auto found = std::ranges::lower_bound(list_, row, {}, &Entry::first);
    if (found == list_.end() || found->first != row) {
      list_.insert(found, {row, amount});
      if (list_.size() > kListMin && list_.size() > list_.back().first / 8) MakeDense();
    } else if ((found->second += amount) == 0) {
      list_.erase(found);
    }
  }
  Count At(std::uint32_t row) const {
    if (dense_) return row < column_.size() ? column_[row] : 0;
    const auto found = std::ranges::lower_bound(list_, row, {}, &Entry::first);
    return found == list_.end() || found->first != row ? 0 : found->second;
  }
  std::int64_t total() const { return total_; }
  std::size_t bytes() const {
    return sizeof *this + list_.capacity() * sizeof(Entry) + column_.capacity() * sizeof(Count);
  }
  bool empty() const { return dense_ ? rows_with_ == 0 : list_.empty(); }

  // Calls visit(row, count) for every non-zero row, in ascending order.
  template <class Visit>
  void ForEach(Visit&& visit) const {
    if (!dense_) {
      for (const auto& [row, count] : list_) visit(row, count);
      return;
    }
    for (std::uint32_t row = 0; row < column_.size(); ++row) {
      if (column_[row] != 0) visit(row, column_[row]);
    }
  }

 private:
  using Entry = std::pair<std::uint32_t, Count>;
  static constexpr std::size_t kListMin = 64;

  void MakeDense() {
    column_.resize(list_.back().first + 1);
    for (const auto& [row, count] : list_) column_[row] = count;
    rows_with_ = list_.size();
    list_ = {};
    dense_ = true;
  }

  std::vector<Entry> list_;
  std::vector<Count> column_;
  std::size_t rows_with_ = 0;  // non-zero entries of column_
  std::int64_t total_ = 0;
  bool dense_ = false;
};

}  // namespace berth::cluster
