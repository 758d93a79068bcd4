#include "scheduler/cluster/pod_groups.hpp"

#include "base/check.hpp"

namespace berth::cluster {
std::optional<std::string> SchedulingGroups::GroupOf(const api::Pod& pod) const {
  if (!pod.spec.pod_group) return std::nullopt;
  return pod.metadata.ns.str() + '/' + *pod.spec.pod_group;
}

const PodGroups::Group* PodGroups::Find(std::string_view key) const {
  const auto found = groups_.find(key);
  return found == groups_.end() ? nullptr : &found->second;
}

api::PodGroupPtr PodGroups::FindObject(std::string_view key) const {
  const Group* group = Find(key);
  return group == nullptr ? nullptr : group->object;
}

void PodGroups::PutObject(api::PodGroupPtr object) {
  Group& group = groups_[object->metadata.Key()];
  group.object = std::move(object);
}

void PodGroups::RemoveObject(std::string_view key) {
  const auto found = groups_.find(key);
  if (found == groups_.end()) return;
  found->second.object = nullptr;
  EraseIfEmpty(found->first);
}

void PodGroups::Put(const api::PodPtr& pod) {
  const std::optional<std::string> key = KeyOf(*pod);
  if (!key) return;
  Group& group = groups_[*key];
  Member& member = group.members[pod->metadata.uid];
  member.pod = pod;
  if (!pod->spec.node_name.empty()) Change(group, member, Stage::kAssigned, pod->spec.node_name);
}

void PodGroups::Remove(const api::Pod& pod) {
  const std::optional<std::string> key = KeyOf(pod);
  if (!key) return;
  const auto found = groups_.find(*key);
  if (found == groups_.end()) return;
  Group& group = found->second;
  const auto member = group.members.find(pod.metadata.uid);
  if (member == group.members.end()) return;
  Change(group, member->second, Stage::kUnscheduled, "");
  group.members.erase(member);
  EraseIfEmpty(*key);
}

// A binding that fails after the pod was seen with a node leaves it assigned.
void PodGroups::SetStage(const api::Pod& pod, Stage stage, const std::string& node) {
  const std::optional<std::string> key = KeyOf(pod);
  if (!key) return;
  const auto found = groups_.find(*key);
  if (found == groups_.end()) return;
  const auto member = found->second.members.find(pod.metadata.uid);
  if (member == found->second.members.end() || member->second.stage == Stage::kAssigned) return;
  Change(found->second, member->second, stage, node);
}

void PodGroups::Change(Group& group, Member& member, Stage stage, const std::string& node) {
  const bool was = member.stage != Stage::kUnscheduled;
  const bool is = stage != Stage::kUnscheduled;
  BERTH_CHECK(!was || group.scheduled > 0, member.pod->metadata.uid, group.members.size());
  group.scheduled = group.scheduled - (was ? 1 : 0) + (is ? 1 : 0);
  member.stage = stage;
  member.node = node;
}

void PodGroups::EraseIfEmpty(const std::string& key) {
  const auto found = groups_.find(key);
  if (found != groups_.end() && found->second.empty()) groups_.erase(found);
}

}  // namespace berth::cluster
