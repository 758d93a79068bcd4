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

}  // namespace berth::plugins
