// A filter's answer: sets of nodes per reason. What kube-scheduler collects node by node is here a few sets,
// so that reasons, counts and "why not this node?" cost nothing extra.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/interner.hpp"
#include "base/row_set.hpp"
#include "scheduler/framework/status.hpp"

namespace berth::framework {

struct ReasonTag;
using ReasonId = Id<ReasonTag>;
using Reasons = Interner<ReasonTag>;

// Reasons that may differ from node to node: each text once, then which rows it is about.
struct SpokenReasons {
  std::vector<std::string> texts;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> rows;  // (row, index of text), in the order spoken

  void Say(std::uint32_t row, std::string_view text);
  void Clear() {
    texts.clear();
    rows.clear();
  }
};

// Lent to a filter plugin for one call; buffers are kept and reused, so that answering with fixed reasons
// allocates nothing.
class Rejections {
 public:
  struct Entry {
    ReasonId reason;
    RowSet rows;
  };

  void Reset() {
    used_ = 0;
    unresolvable_.Clear();
    spoken_.Clear();
    pending_ = false;
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
  // Rejects one row in words made up for it. Reasons of Reject show before these.
  void Say(std::uint32_t row, std::string_view reason) { spoken_.Say(row, reason); }
  // Rejected rows for which evicting pods cannot help. The code belongs to the row, not to the reason.
  RowSet& unresolvable() { return unresolvable_; }
  // The rejection waits for somebody outside: once a hint frees the pod it is tried without back-off.
  void MarkPending() { pending_ = true; }
  // The plugin could not judge the row; the attempt fails unless an earlier plugin rejected the row.
  void Fail(std::uint32_t row, std::string what) { errors_.emplace_back(row, std::move(what)); }
  void Fail(const RowSet& rows, const std::string& what) {
    rows.ForEach([&](std::size_t row) { Fail(static_cast<std::uint32_t>(row), what); });
  }

  std::span<const Entry> entries() const { return {entries_.data(), used_}; }
  const RowSet& unresolvable() const { return unresolvable_; }
  const SpokenReasons& spoken() const { return spoken_; }
  bool pending() const { return pending_; }
  std::span<const std::pair<std::uint32_t, std::string>> errors() const { return errors_; }

 private:
  std::vector<Entry> entries_;
  std::size_t used_ = 0;
  RowSet unresolvable_;
  SpokenReasons spoken_;
  bool pending_ = false;
  std::vector<std::pair<std::uint32_t, std::string>> errors_;
};

// What all filters of a profile said together. Kept by the caller and reused from attempt to attempt.
struct FilterOutcome {
  struct Rejection {
    std::size_t plugin = 0;  // index of filter in the profile
    ReasonId reason;
    RowSet rows;
  };
  struct Spoken {
    std::size_t plugin = 0;
    SpokenReasons reasons;
  };
  std::vector<Rejection> rejections;  // the first `used` are valid; per row the first plugin only
  std::size_t used = 0;
  std::vector<Spoken> spoken;
  std::vector<std::size_t> pending;  // plugins whose rejections wait for somebody outside
  RowSet unresolvable;               // of the rejected rows
  RowSet feasible;
  std::vector<std::pair<std::uint32_t, Status>> errors;  // (row, why it could not be judged)

  void Reset(const RowSet& candidates);
  std::span<const Rejection> all() const { return {rejections.data(), used}; }
};

}  // namespace berth::framework
