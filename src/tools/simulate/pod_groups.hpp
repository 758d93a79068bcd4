// The groups of pods that exist in a simulation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "simulation/virtual_time.hpp"

namespace berth::simulate {

inline constexpr std::uint32_t kNoGroup = UINT32_MAX;

struct LiveGroup {
  std::uint32_t kind = 0;
  std::uint32_t size = 0;   // members
  std::uint32_t bound = 0;  // members with a node
  Duration created{};
  std::optional<Duration> lifetime;  // from the binding of the last member
  std::string name;                  // of the PodGroup
  std::vector<std::uint32_t> slots;  // of the members; those that no longer exist included
  bool started = false;              // the last member has been bound
  bool ends = false;                 // a member was preempted or lost
  simulation::VirtualTime::EventId completion{};
};

// Indices of groups that no longer exist are used again. One thread.
class LiveGroups {
 public:
  std::uint32_t Add(LiveGroup group) {
    if (unused_.empty()) {
      groups_.push_back(std::move(group));
      return static_cast<std::uint32_t>(groups_.size() - 1);
    }
    const std::uint32_t index = unused_.back();
    unused_.pop_back();
    groups_[index] = std::move(group);
    return index;
  }
  LiveGroup& at(std::uint32_t index) {
    BERTH_CHECK(index < groups_.size() && groups_[index].size > 0, index);
    return groups_[index];
  }
  LiveGroup Remove(std::uint32_t index) {
    LiveGroup group = std::exchange(at(index), LiveGroup());
    unused_.push_back(index);
    return group;
  }
  template <class Visit>
  void ForEach(Visit&& visit) const {
    for (const LiveGroup& group : groups_) {
      if (group.size > 0) visit(group);
    }
  }

 private:
  std::vector<LiveGroup> groups_;
  std::vector<std::uint32_t> unused_;
};

}  // namespace berth::simulate
