// A cache whose entries expire.
#pragma once

#include <list>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/text_map.hpp"

namespace berth::service {

// Keeps at most `capacity` entries and evicts the least recently used one. One thread.
template <class Value>
class ExpiringCache {
 public:
  explicit ExpiringCache(std::size_t capacity) : capacity_(capacity) {}

  std::optional<Value> Get(const std::string& key, MonoTime now) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return std::nullopt;
    if (now >= found->second->expires) {
      entries_.erase(found->second);
      by_key_.erase(found);
      return std::nullopt;
    }
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->value;
  }
  // A time to live of zero or less stores nothing.
  void Put(const std::string& key, Value value, MonoTime now, Duration time_to_live) {
    if (time_to_live <= Duration::zero()) return;
    if (const auto known = by_key_.find(key); known != by_key_.end()) {
      entries_.erase(known->second);
      by_key_.erase(known);
    }
    entries_.push_front({key, std::move(value), now + time_to_live});
    by_key_.emplace(key, entries_.begin());
    if (entries_.size() <= capacity_) return;
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string key;
    Value value;
    MonoTime expires;
  };
  const std::size_t capacity_;
  std::list<Entry> entries_{};
  TextMap<typename std::list<Entry>::iterator> by_key_{};
};

}  // namespace berth::service
