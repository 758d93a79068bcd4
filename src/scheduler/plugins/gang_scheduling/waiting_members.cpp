#include "scheduler/plugins/gang_scheduling/waiting_members.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace berth::plugins {

void WaitingMembers::Keep(const std::string& key, const std::string& uid) {
  const cluster::PodGroups::Group* group = groups_.Find(key);
  BERTH_CHECK(group != nullptr, key, uid);
  std::set<std::string>& waiting = waiting_[key];
  waiting.insert(uid);
  if (waiting.size() > 2 * group->members.size())
    std::erase_if(waiting, [&](const std::string& member) { return !group->members.contains(member); });
  if (waiting_.size() < purge_at_) return;
  erase_if(waiting_, [&](const auto& entry) { return groups_.Find(entry.first) == nullptr; });
  purge_at_ = std::max<std::size_t>(64, 2 * waiting_.size());
}

// Each waiting member is looked up once, not again for each of the members that are placed after it.
void WaitingMembers::Allow(const std::string& key, std::string_view plugin) {
  const auto known = waiting_.find(key);
  if (known == waiting_.end()) return;
  const std::set<std::string> members = std::move(known->second);
  waiting_.erase(known);
  for (const std::string& uid : members) {
    if (framework::WaitingPod* waiting = handle_.scheduler.FindWaitingPod(uid)) waiting->Allow(plugin);
  }
}

}  // namespace berth::plugins
