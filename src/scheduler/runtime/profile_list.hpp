// The profiles in use. A reload of the configuration replaces them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/check.hpp"
#include "scheduler/runtime/profile.hpp"

namespace berth::runtime {

// A profile has an index, by which pods refer to it. The index belongs to the schedulerName: it stays the
// same when the profile is replaced, also if the name was removed and added again. Indexes are never reused.
// Of a removed profile only the name is kept. Iteration visits the profiles in use, in the order of the
// configuration. Scheduler loop only.
class ProfileList {
 public:
  using Pointer = std::shared_ptr<const Profile>;
  // The number of names that may have an index, over all replacements.
  static constexpr std::size_t kNamesMax = 1000;

  ProfileList() = default;
  ProfileList(const ProfileList&) = delete;
  ProfileList& operator=(const ProfileList&) = delete;

  // The number of indexes, those of removed names included.
  std::size_t size() const { return by_index_.size(); }
  bool empty() const { return in_use_.empty(); }
  // The profile in use of this index, which must have one.
  const Pointer& operator[](std::size_t index) const {
    BERTH_CHECK(by_index_[index] != nullptr, index, names_[index]);
    return by_index_[index];
  }
  // Whether the name of this index has a profile in use.
  bool IsInUse(std::size_t index) const { return by_index_[index] != nullptr; }
  // The schedulerName of this index.
  std::string_view NameOf(std::size_t index) const { return names_[index]; }
  // nullopt: no profile in use has this name.
  std::optional<std::uint32_t> Find(std::string_view scheduler_name) const;

  std::vector<Pointer>::const_iterator begin() const { return in_use_.begin(); }
  std::vector<Pointer>::const_iterator end() const { return in_use_.end(); }
  const Pointer& front() const { return in_use_.front(); }

  // Whether the name has an index.
  bool Knows(std::string_view scheduler_name) const { return IndexOf(scheduler_name).has_value(); }
  // `profiles`: at least one, with different names, whose texts must outlive this list. At most kNamesMax
  // names may have indexes.
  void Replace(std::vector<Pointer> profiles);

 private:
  std::optional<std::uint32_t> IndexOf(std::string_view scheduler_name) const;

  std::vector<Pointer> by_index_;        // null: removed
  std::vector<std::string_view> names_;  // by index
  std::vector<Pointer> in_use_;
};

}  // namespace berth::runtime
