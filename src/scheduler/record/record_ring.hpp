// The most recent attempt records, bounded in bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>

#include "base/clock.hpp"
#include "scheduler/record/attempt_record.hpp"

namespace berth::record {

// When the limit would be exceeded, the oldest records are dropped; at least one record is kept. Records are
// numbered from 0 in the order of their attempts; the kept ones have the numbers first() to end() - 1.
// Scheduler loop only.
class RecordRing {
 public:
  explicit RecordRing(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // `at` is the end of the attempt.
  void Add(std::shared_ptr<const AttemptRecord> record, WallTime at) {
    const std::size_t bytes = record->Bytes();
    while (!records_.empty() && bytes_ + bytes > max_bytes_) {
      bytes_ -= records_.front().bytes;
      records_.pop_front();
      ++evicted_;
    }
    records_.push_back({std::move(record), bytes, at});
    bytes_ += bytes;
  }
  // The newest record of the pod ("namespace/name"); null if there is none.
  std::shared_ptr<const AttemptRecord> Latest(std::string_view pod) const {
    for (auto entry = records_.rbegin(); entry != records_.rend(); ++entry) {
      if (entry->record->pod == pod) return entry->record;
    }
    return nullptr;
  }
  // Calls visit(record, at) for the records of the pod, newest first, among the `count` records before number
  // `before`. Returns the number before which the search continues; first() or less: the search is complete.
  template <class Visit>
  std::uint64_t Search(std::string_view pod, std::uint64_t before, std::uint64_t count, Visit&& visit) const {
    return ForEachEntryBefore(before, count, [&](const Entry& entry) {
      if (entry.record->pod == pod) visit(entry.record, entry.at);
    });
  }
  // Calls visit(const AttemptRecord&, at) for the `count` records before number `before`, newest first.
  // Returns the number before which the search continues.
  template <class Visit>
  std::uint64_t ForEachBefore(std::uint64_t before, std::uint64_t count, Visit&& visit) const {
    return ForEachEntryBefore(before, count, [&](const Entry& entry) { visit(*entry.record, entry.at); });
  }
  std::uint64_t first() const { return evicted_; }
  std::uint64_t end() const { return evicted_ + records_.size(); }
  std::size_t size() const { return records_.size(); }
  std::size_t bytes() const { return bytes_; }
  std::size_t max_bytes() const { return max_bytes_; }
  std::size_t evicted() const { return evicted_; }  // total number of dropped records

 private:
  struct Entry {
    std::shared_ptr<const AttemptRecord> record;
    std::size_t bytes;
    WallTime at;
  };
  template <class Visit>
  std::uint64_t ForEachEntryBefore(std::uint64_t before, std::uint64_t count, Visit&& visit) const {
    const std::uint64_t end = std::clamp(before, first(), this->end());
    const std::uint64_t begin = end - std::min(count, end - first());
    for (std::uint64_t number = end; number-- > begin;)
      visit(records_[static_cast<std::size_t>(number - first())]);
    return begin;
  }

  std::deque<Entry> records_;
  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::size_t evicted_ = 0;
};

}  // namespace berth::record
