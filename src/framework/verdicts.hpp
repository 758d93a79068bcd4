// A filter's answer: sets of nodes per reason. What kube-scheduler collects node by node is here a few sets,
// so that reasons, counts and "why not this node?" cost nothing extra.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/interner.hpp"
#include "base/row_set.hpp"
#include "framework/status.hpp"

namespace berth::framework {

struct ReasonTag;
using ReasonId = Id<ReasonTag>;
using Reasons = Interner<ReasonTag>;

// Lent to a filter plugin for one call; buffers are kept and reused, so that answering allocates nothing.
class Rejections {
 public:
  struct Entry {
    ReasonId reason;
    RowSet rows;
  };

  void Reset() {
    used_ = 0;
    unresolvable_.Clear();
    errors_.clear();
  }
  // A set to fill with the rows that `reason` rejects; empty, with room for `rows` rows. A row may be
  // rejected for several reasons: they show in the order of these calls. Valid until Reset.
  RowSet& Reject(ReasonId reason, std::size_t rows) {
    if (used_ == entries_.size()) entries_.emplace_back();
    Entry& entry = entries_[used_++];
    entry.reason = reason;
    entry.rows.Resize(rows);
    entry.rows.Clear();
    return entry.rows;
  }
  // Takes the last Reject back: nothing was put into its set.
  void DropLast() { --used_; }
  // Rejected rows for which evicting pods cannot help. The code belongs to the row, not to the reason.
  RowSet& unresolvable() { return unresolvable_; }
  // The plugin could not judge the row; the attempt fails unless an earlier plugin rejected the row.
  void Fail(std::uint32_t row, std::string what) { errors_.emplace_back(row, std::move(what)); }

  std::span<const Entry> entries() const { return {entries_.data(), used_}; }
  const RowSet& unresolvable() const { return unresolvable_; }
  std::span<const std::pair<std::uint32_t, std::string>> errors() const { return errors_; }

 private:
  std::vector<Entry> entries_;
  std::size_t used_ = 0;
  RowSet unresolvable_;
  std::vector<std::pair<std::uint32_t, std::string>> errors_;
};

}  // namespace berth::framework
