// The most recent attempt records, bounded in bytes.
#pragma once

#include <deque>
#include <memory>

#include "scheduler/record/attempt_record.hpp"

namespace berth::record {

// When the limit would be exceeded, the oldest records are dropped; at least one record is kept. Scheduler
// loop only.
class RecordRing {
 public:
  explicit RecordRing(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  void Add(std::shared_ptr<const AttemptRecord> record) {
    const std::size_t bytes = record->Bytes();
    while (!records_.empty() && bytes_ + bytes > max_bytes_) {
      bytes_ -= records_.front().bytes;
      records_.pop_front();
      ++evicted_;
    }
    records_.push_back({std::move(record), bytes});
    bytes_ += bytes;
  }
  // The newest record of the pod ("namespace/name"); null if there is none.
  std::shared_ptr<const AttemptRecord> Latest(std::string_view pod) const {
    for (auto entry = records_.rbegin(); entry != records_.rend(); ++entry) {
      if (entry->record->pod == pod) return entry->record;
    }
    return nullptr;
  }
  std::size_t size() const { return records_.size(); }
  std::size_t bytes() const { return bytes_; }
  std::size_t max_bytes() const { return max_bytes_; }
  std::size_t evicted() const { return evicted_; }  // total number of dropped records

 private:
  struct Entry {
    std::shared_ptr<const AttemptRecord> record;
    std::size_t bytes;
  };
  std::deque<Entry> records_;
  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::size_t evicted_ = 0;
};

}  // namespace berth::record
