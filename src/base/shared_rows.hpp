// A copy-on-write set of rows.
#pragma once

#include <memory>
#include <utility>

#include "base/row_set.hpp"

namespace berth {

// Reads like a RowSet. Copies share the rows until one of them is changed; the empty set takes no memory.
// Different copies may be used on different threads; each copy belongs to one thread.
class SharedRows {
 public:
  SharedRows() = default;
  SharedRows(RowSet rows)  // implicit conversion
      : rows_(rows.Empty() ? nullptr : std::make_shared<RowSet>(std::move(rows))) {}

  operator const RowSet&() const { return get(); }
  const RowSet& get() const {
    static const RowSet kNone;
    return rows_ == nullptr ? kNone : *rows_;
  }
  bool Empty() const { return rows_ == nullptr || rows_->Empty(); }
  std::size_t Count() const { return get().Count(); }
  bool Has(std::size_t row) const { return get().Has(row); }
  std::size_t First() const { return get().First(); }
  template <class Visit>
  void ForEach(Visit&& visit) const {
    get().ForEach(std::forward<Visit>(visit));
  }
  friend bool operator==(const SharedRows& a, const SharedRows& b) { return a.get() == b.get(); }
  friend bool operator==(const SharedRows& a, const RowSet& b) { return a.get() == b; }
  // Memory of the rows divided by the number of copies that share them.
  std::size_t Bytes() const {
    return rows_ == nullptr ? 0 : rows_->words().size_bytes() / static_cast<std::size_t>(rows_.use_count());
  }

  // The rows for changing, not shared with other copies.
  RowSet& Own() {
    if (rows_ == nullptr) {
      rows_ = std::make_shared<RowSet>();
    } else if (rows_.use_count() > 1) {
      rows_ = std::make_shared<RowSet>(*rows_);
    }
    return *rows_;
  }
  void Add(std::size_t row) { Own().Add(row); }
  void Remove(std::size_t row) {
    if (Has(row)) Own().Remove(row);
  }
  SharedRows& operator|=(const RowSet& other) {
    if (Empty()) return *this = SharedRows(other);
    if (!other.Empty()) Own() |= other;
    return *this;
  }
  SharedRows& operator-=(const RowSet& other) {
    if (!Empty()) Own() -= other;
    return *this;
  }
  SharedRows& operator&=(const RowSet& other) {
    if (!Empty()) Own() &= other;
    return *this;
  }

 private:
  std::shared_ptr<RowSet> rows_;
};

}  // namespace berth
