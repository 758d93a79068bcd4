// A cache whose entries have weights.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <utility>

#include "base/seeded_hash.hpp"

namespace berth::plugins {

// Keeps the entries that were used last, as many as their weights allow. Entries do not move. One thread.
template <class Value>
class WeightedCache {
 public:
  // `capacity`: of all weights.
  explicit WeightedCache(std::size_t capacity) : capacity_(capacity) {}
  WeightedCache(const WeightedCache&) = delete;
  WeightedCache& operator=(const WeightedCache&) = delete;

  // Null: there is none. Valid until the next Add.
  Value* Find(std::string_view key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->value;
  }
  // `key` is new. Evicts the entries that were not used for longest. An entry that is heavier than the
  // capacity is kept alone.
  Value& Add(std::string key, Value value, std::size_t weight) {
    while (!entries_.empty() && !HasRoom(weight)) EvictLast();
    entries_.push_front({std::move(key), std::move(value), weight});
    by_key_.emplace(entries_.front().key, entries_.begin());
    weight_ += weight;
    return entries_.front().value;
  }
  template <class Visit>
  void ForEach(const Visit& visit) {
    for (Entry& entry : entries_) visit(entry.value);
  }

 private:
  struct Entry {
    std::string key;
    Value value;
    std::size_t weight;
  };
  bool HasRoom(std::size_t weight) const { return weight <= capacity_ && weight_ <= capacity_ - weight; }
  void EvictLast() {
    weight_ -= entries_.back().weight;
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }

  const std::size_t capacity_;
  std::size_t weight_ = 0;
  std::list<Entry> entries_{};  // the one that was used last is the first
  using Position = typename std::list<Entry>::iterator;
  boost::unordered_flat_map<std::string_view, Position, SeededHash, std::equal_to<>> by_key_{};
};

}  // namespace berth::plugins
