#include "scheduler/plugins/group_reservation/reservation_line.hpp"

#include <algorithm>
#include <tuple>

#include "base/check.hpp"

namespace berth::plugins {

const ReservationLine::Group& ReservationLine::Put(const std::string& key, std::int32_t priority,
                                                   MonoTime since, MonoTime last_attempt) {
  Group& group = groups_[key];
  group.priority = priority;
  group.since = since;
  group.last_attempt = last_attempt;
  return group;
}

bool ReservationLine::IsFirst(const std::string& key) const {
  const auto own = groups_.find(key);
  BERTH_CHECK(own != groups_.end(), key);
  const auto place = [](const auto& entry) {
    return std::tuple(-std::int64_t{entry.second.priority}, entry.second.since,
                      std::string_view(entry.first));
  };
  return std::ranges::none_of(groups_, [&](const auto& other) { return place(other) < place(*own); });
}

std::vector<ReservationLine::Saved> ReservationLine::Save() const {
  std::vector<Saved> saved;
  for (const auto& [key, group] : groups_)
    saved.push_back({key, group.priority, group.since, group.last_attempt, group.tried});
  std::ranges::sort(saved, {}, &Saved::key);
  return saved;
}

void ReservationLine::Restore(const std::vector<Saved>& saved) {
  groups_.clear();
  for (const Saved& group : saved)
    groups_[group.key] = {group.priority, group.since, group.last_attempt, group.tried};
}

}  // namespace berth::plugins
