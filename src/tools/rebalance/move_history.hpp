// The moves of the last hour or so, for limits and cool-downs, and the workloads whose evictions were
// refused.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "tools/rebalance/settings.hpp"

namespace berth::rebalance {

// Bounded by the limit of moves per hour and by the times of the settings. One thread.
class MoveHistory {
 public:
  struct Entry {
    WallTime at{};
    std::string workload;
    std::string from, to;
  };

  void Add(Entry entry) { entries_.push_back(std::move(entry)); }
  // Of all moves, oldest first.
  std::vector<Entry> Moves() const { return {entries_.begin(), entries_.end()}; }
  void ReplaceMoves(const std::vector<Entry>& moves) { entries_.assign(moves.begin(), moves.end()); }
  // An eviction of the workload was refused: delays the next one, for longer with each refusal in a row.
  // Returns the delay.
  Duration Refused(const std::string& workload, WallTime now) {
    if (refused_.size() >= kMostRefused && !refused_.contains(workload)) refused_.erase(refused_.begin());
    Refusal& refusal = refused_[workload];
    refusal.delay = refusal.delay == Duration{} ? kFirstDelay : std::min(2 * refusal.delay, kLongestDelay);
    refusal.until = now + refusal.delay;
    return refusal.delay;
  }
  void Accepted(const std::string& workload) { refused_.erase(workload); }
  // The time before which the workload is not evicted; nullopt: none.
  std::optional<WallTime> RefusedUntil(const std::string& workload) const {
    const auto found = refused_.find(workload);
    return found == refused_.end() ? std::nullopt : std::optional(found->second.until);
  }
  // Removes what no setting depends on any more.
  void Forget(WallTime now, const PlanSettings& settings) {
    const Duration kept = std::max({Duration(std::chrono::hours(1)), settings.cool_down, settings.no_return});
    std::erase_if(entries_, [&](const Entry& entry) { return now - entry.at > kept; });
    std::erase_if(refused_, [&](const auto& entry) { return now - entry.second.until > kLongestDelay; });
  }
  std::int64_t Since(WallTime time) const {
    return std::ranges::count_if(entries_, [&](const Entry& entry) { return entry.at > time; });
  }
  // The time of the last move of the workload; nullopt: none.
  std::optional<WallTime> LastOf(std::string_view workload) const {
    return Last([&](const Entry& entry) { return entry.workload == workload; });
  }
  // The last time at which a pod left the node or was moved to it.
  std::optional<WallTime> LastOfNode(std::string_view node) const {
    return Last([&](const Entry& entry) { return entry.from == node || entry.to == node; });
  }
  // The last time at which a pod of the workload left the node.
  std::optional<WallTime> Left(std::string_view workload, std::string_view node) const {
    return Last([&](const Entry& entry) { return entry.workload == workload && entry.from == node; });
  }

 private:
  static constexpr Duration kFirstDelay = std::chrono::minutes(1);
  static constexpr Duration kLongestDelay = std::chrono::minutes(30);
  static constexpr std::size_t kMostRefused = 10'000;
  struct Refusal {
    WallTime until{};
    Duration delay{};
  };

  template <class Matches>
  std::optional<WallTime> Last(Matches&& matches) const {
    std::optional<WallTime> last;
    for (const Entry& entry : entries_) {
      if (matches(entry) && (!last || entry.at > *last)) last = entry.at;
    }
    return last;
  }

  std::deque<Entry> entries_;
  std::map<std::string, Refusal> refused_;  // by workload
};

}  // namespace berth::rebalance
