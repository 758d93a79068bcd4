// Pod groups that have waited long enough for a reservation and have none yet.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/text_map.hpp"

namespace berth::plugins {

// They get reservations one after the other: groups of higher priority first, then those that have waited
// longer. Holds at most as many groups as exist, if those that no longer wait are removed. Scheduler loop
// only.
class ReservationLine {
 public:
  struct Group {
    std::int32_t priority = 0;
    MonoTime since;         // of the first attempt
    MonoTime last_attempt;  // of the latest one
    // Reservations::version() when no nodes were found for it; 0: it was not tried.
    std::uint64_t tried = 0;
  };

  // Adds the group, or updates all but `tried`. The reference is valid until the next call.
  const Group& Put(const std::string& key, std::int32_t priority, MonoTime since, MonoTime last_attempt);
  void Remove(const std::string& key) { groups_.erase(key); }
  // No nodes were found for the group, which must be in the line.
  void MarkTried(const std::string& key, std::uint64_t version) { groups_.at(key).tried = version; }
  // Removes those for which left(key, const Group&) returns true.
  template <class Left>
  void RemoveIf(Left&& left) {
    erase_if(groups_, [&](const auto& entry) { return left(entry.first, entry.second); });
  }
  // Whether no group comes before this one, which must be in the line. Groups that have waited equally long
  // are ordered by key.
  bool IsFirst(const std::string& key) const;

  // The content as a value, for recordings.
  struct Saved {
    std::string key;
    std::int32_t priority = 0;
    MonoTime since;
    MonoTime last_attempt;
    std::uint64_t tried = 0;
    static void VisitFields(auto& self, auto&& visit) {
      visit("key", self.key);
      visit("priority", self.priority);
      visit("since", self.since);
      visit("lastAttempt", self.last_attempt);
      visit("tried", self.tried);
    }
  };
  std::vector<Saved> Save() const;
  void Restore(const std::vector<Saved>& saved);

 private:
  TextMap<Group> groups_;
};

}  // namespace berth::plugins
