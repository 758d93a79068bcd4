#include "scheduler/runtime/profile_list.hpp"

#include "base/check.hpp"

namespace berth::runtime {

std::optional<std::uint32_t> ProfileList::Find(std::string_view scheduler_name) const {
  const auto index = IndexOf(scheduler_name);
  return index && is_in_use_[*index] ? index : std::nullopt;
}

void ProfileList::Replace(std::vector<Pointer> profiles) {
  BERTH_CHECK(!profiles.empty(), by_index_.size());
  is_in_use_.assign(by_index_.size(), false);
  for (const Pointer& profile : profiles) {
    if (const auto index = IndexOf(profile->name())) {
      by_index_[*index] = profile;
      is_in_use_[*index] = true;
    } else {
      by_index_.push_back(profile);
      is_in_use_.push_back(true);
    }
  }
  BERTH_CHECK(by_index_.size() <= kNamesMax, by_index_.size());
  in_use_ = std::move(profiles);
}

std::optional<std::uint32_t> ProfileList::IndexOf(std::string_view scheduler_name) const {
  for (std::uint32_t index = 0; index < by_index_.size(); ++index) {
    if (by_index_[index]->name() == scheduler_name) return index;
  }
  return std::nullopt;
}

}  // namespace berth::runtime
