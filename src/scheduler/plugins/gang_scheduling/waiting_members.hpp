// The members of groups that a Permit plugin holds.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

#include "base/text_map.hpp"
#include "scheduler/cluster/pod_groups.hpp"
#include "scheduler/framework/handle.hpp"

namespace berth::plugins {

// Groups are identified by their key in PodGroups, members by their UID. Scheduler loop only.
class WaitingMembers {
 public:
  // Must outlive this object.
  explicit WaitingMembers(framework::Handle& handle) : handle_(handle), groups_(handle.groups) {}

  // A member of an existing group begins to wait.
  void Keep(const std::string& key, const std::string& uid);
  // Records the plugin's approval for all members of the group that wait.
  void Allow(const std::string& key, std::string_view plugin);

 private:
  framework::Handle& handle_;
  const cluster::PodGroups& groups_;
  // By group: members that have waited since the last Allow. Some may have stopped waiting, or may be
  // deleted: at most as many as twice the members of the group.
  TextMap<std::set<std::string>> waiting_;
  std::size_t purge_at_ = 64;  // the size at which entries of groups that do not exist any more are removed
};

}  // namespace berth::plugins
