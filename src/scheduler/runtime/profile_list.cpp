#include "scheduler/runtime/profile_list.hpp"

#include <utility>

namespace berth::runtime {

std::optional<std::uint32_t> ProfileList::Find(std::string_view scheduler_name) const {
  const auto index = IndexOf(scheduler_name);
  return index && IsInUse(*index) ? index : std::nullopt;
}

void ProfileList::Replace(std::vector<Pointer> profiles) {
  BERTH_CHECK(!profiles.empty(), by_index_.size());
  by_index_.assign(by_index_.size(), nullptr);
  for (const Pointer& profile : profiles) {
    if (const auto index = IndexOf(profile->name())) {
      by_index_[*index] = profile;
    } else {
      by_index_.push_back(profile);
      names_.push_back(profile->name());
    }
  }
  BERTH_CHECK(by_index_.size() <= kNamesMax, by_index_.size());
  in_use_ = std::move(profiles);
}

std::optional<std::uint32_t> ProfileList::IndexOf(std::string_view scheduler_name) const {
  for (std::uint32_t index = 0; index < names_.size(); ++index) {
    if (names_[index] == scheduler_name) return index;
  }
  return std::nullopt;
}

}  // namespace berth::runtime
