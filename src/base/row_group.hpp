// A set of rows that is often tiny: the nodes with a label, the pods with a host port.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/row_set.hpp"

namespace berth {

// Stores few members as a list and many as bits, so that n names over n rows do not take n^2 bits.
class RowGroup {
 public:
  void Add(std::uint32_t row) {
    if (dense_) {
      count_ += bits_.Has(row) ? 0 : 1;
      bits_.Add(row);
      return;
    }
    if (std::find(list_.begin(), list_.end(), row) != list_.end()) return;
    list_.push_back(row);
    ++count_;
    if (list_.size() > kListMax) {
      for (const std::uint32_t member : list_) bits_.Add(member);
      list_ = {};
      dense_ = true;
    }
  }
  void Remove(std::uint32_t row) {
    if (dense_) {
      count_ -= bits_.Has(row) ? 1 : 0;
      bits_.Remove(row);
      return;
    }
    if (const auto found = std::find(list_.begin(), list_.end(), row); found != list_.end()) {
      *found = list_.back();
      list_.pop_back();
      --count_;
    }
  }
  bool Has(std::uint32_t row) const {
    return dense_ ? bits_.Has(row) : std::find(list_.begin(), list_.end(), row) != list_.end();
  }
  std::size_t Count() const { return count_; }
  bool Empty() const { return count_ == 0; }

  // The members as a RowSet if they are stored as bits; else null.
  const RowSet* bits() const { return dense_ ? &bits_ : nullptr; }

  void AddTo(RowSet& out) const {
    if (dense_) {
      out |= bits_;
    } else {
      for (const std::uint32_t row : list_) out.Add(row);
    }
  }
  void RemoveFrom(RowSet& out) const {
    if (dense_) {
      out -= bits_;
    } else {
      for (const std::uint32_t row : list_) out.Remove(row);
    }
  }
  // Intersects `out` with this group; overwrites `scratch`.
  void Restrict(RowSet& out, RowSet& scratch) const {
    if (dense_) {
      out &= bits_;
      return;
    }
    scratch.Clear();
    for (const std::uint32_t row : list_) {
      if (out.Has(row)) scratch.Add(row);
    }
    std::swap(out, scratch);
  }
  template <class Visit>
  void ForEach(Visit&& visit) const {
    if (dense_) {
      bits_.ForEach(visit);
    } else {
      for (const std::uint32_t row : list_) visit(row);
    }
  }

 private:
  static constexpr std::size_t kListMax = 32;

  std::vector<std::uint32_t> list_;
  RowSet bits_;
  std::size_t count_ = 0;
  bool dense_ = false;
};

}  // namespace berth
