// The result of a filter: a set of rejected rows per reason. Event texts, counts and per-node explanations
// are derived from these sets.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/id.hpp"
#include "base/row_set.hpp"
#include "scheduler/framework/status.hpp"

namespace berth::framework {

struct ReasonTag;
using ReasonId = Id<ReasonTag>;
using Reasons = Interner<ReasonTag>;

// Per-node reasons: each text is stored once, with the rows to which it applies.
struct RowReasons {
  std::vector<std::string> texts;
  // (row, index of text), in the order in which they were added
  std::vector<std::pair<std::uint32_t, std::uint32_t>> rows;

  void Add(std::uint32_t row, std::string_view text);
  void Clear() {
    texts.clear();
    rows.clear();
  }
};

// The result of one Filter call. Lent to the plugin for the duration of the call. Buffers are reused, so
// fixed reasons allocate no memory.
class Rejections {
 public:
  struct Entry {
    ReasonId reason;
    RowSet rows;
  };

  void Reset() {
    used_ = 0;
    unresolvable_.Clear();
    row_reasons_.Clear();
    pending_ = false;
    errors_.clear();
  }
  // Returns a set for the rows that `reason` rejects: empty, with room for `rows` rows. A row may have
  // several reasons; they are reported in the order of these calls. Valid until Reset; later calls may move
  // it, so fill it before the next call.
  RowSet& Reject(ReasonId reason, std::size_t rows) {
    if (used_ == entries_.size()) entries_.emplace_back();
    Entry& entry = entries_[used_++];
    entry.reason = reason;
    entry.rows.Resize(rows);
    entry.rows.Clear();
    return entry.rows;
  }
  // Removes the last entry. The caller has added no row to its set.
  void DropLast() { --used_; }
  // Rejects one row with a text of its own. Reasons added by Reject are reported before these.
  void Add(std::uint32_t row, std::string_view reason) { row_reasons_.Add(row, reason); }
  // Rejected rows on which evicting pods cannot help (UnschedulableAndUnresolvable). The code belongs to the
  // row, not to the reason.
  RowSet& unresolvable() { return unresolvable_; }
  // Marks the rejection as Pending: the pod waits for an external component and is retried without back-off
  // once a hint returns kQueue.
  void MarkPending() { pending_ = true; }
  // Reports an error for the row. The attempt fails unless an earlier plugin rejected the row.
  void Fail(std::uint32_t row, std::string what) { errors_.emplace_back(row, std::move(what)); }
  void Fail(const RowSet& rows, const std::string& what) {
    rows.ForEach([&](std::size_t row) { Fail(static_cast<std::uint32_t>(row), what); });
  }

  std::span<const Entry> entries() const { return {entries_.data(), used_}; }
  const RowSet& unresolvable() const { return unresolvable_; }
  const RowReasons& row_reasons() const { return row_reasons_; }
  bool pending() const { return pending_; }
  std::span<const std::pair<std::uint32_t, std::string>> errors() const { return errors_; }

 private:
  std::vector<Entry> entries_;
  std::size_t used_ = 0;
  RowSet unresolvable_;
  RowReasons row_reasons_;
  bool pending_ = false;
  std::vector<std::pair<std::uint32_t, std::string>> errors_;
};

}  // namespace berth::framework
