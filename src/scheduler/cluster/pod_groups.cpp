#include "scheduler/cluster/pod_groups.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace berth::cluster {
std::optional<std::string> SchedulingGroups::GroupOf(const api::Pod& pod) const {
  if (!pod.spec.pod_group) return std::nullopt;
  return pod.metadata.ns.str() + '/' + *pod.spec.pod_group;
}

std::optional<std::string> PodGroups::KeyOf(const api::Pod& pod) const {
  if (auto key = grouping_.GroupOf(pod); key || external_.empty()) return key;
  const auto kept = kept_.find(pod.metadata.uid);
  std::string key = kept == kept_.end() ? FindExternal(pod).key : kept->second.key;
  if (key.empty()) return std::nullopt;
  return key;
}

// Names of objects contain no slash, qualified names do.
bool PodGroups::IsExternal(std::string_view key) const {
  return !external_.empty() && std::ranges::count(key, '/') > 1;
}

PodGroups::External PodGroups::FindExternal(const api::Pod& pod) const {
  for (const auto& grouping : external_) {
    if (auto key = grouping->GroupOf(pod)) return {*std::move(key), grouping.get()};
  }
  return {};
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
  group.described = false;
}

void PodGroups::RemoveObject(std::string_view key) {
  const auto found = groups_.find(key);
  if (found == groups_.end()) return;
  found->second.object = nullptr;
  found->second.described = false;
  EraseIfEmpty(found->first);
}

void PodGroups::Put(const api::PodPtr& pod) {
  const External* const external = Keep(*pod);
  const std::optional<std::string> key = KeyOf(*pod);
  if (!key) return;
  Group& group = groups_[*key];
  const auto [known, added] = group.members.try_emplace(pod->metadata.uid);
  Member& member = known->second;
  member.pod = pod;
  if (added && external != nullptr) {
    member.task = external->grouping->TaskOf(*pod);
    AddToTask(group, member.task);
    if (group.object == nullptr) {
      group.object = external->grouping->Describe(*key, *pod);
      group.described = group.object != nullptr;
    }
  }
  if (!pod->spec.node_name.empty()) Change(group, member, Stage::kAssigned, pod->spec.node_name);
}

// Null: the pod has no group of another project.
const PodGroups::External* PodGroups::Keep(const api::Pod& pod) {
  if (external_.empty() || grouping_.GroupOf(pod)) return nullptr;
  const auto known = kept_.find(pod.metadata.uid);
  const External& kept = known != kept_.end() ? known->second : (kept_[pod.metadata.uid] = FindExternal(pod));
  return kept.key.empty() ? nullptr : &kept;
}

void PodGroups::AddToTask(Group& group, const std::string& task) {
  if (!task.empty()) ++group.tasks[task].members;
}

void PodGroups::RemoveFromTask(Group& group, const std::string& task) {
  if (task.empty()) return;
  const auto found = group.tasks.find(task);
  BERTH_CHECK(found != group.tasks.end() && found->second.members > 0, task);
  if (--found->second.members == 0) group.tasks.erase(found);
}

void PodGroups::Remove(const api::Pod& pod) {
  const std::optional<std::string> key = KeyOf(pod);
  kept_.erase(pod.metadata.uid);
  if (!key) return;
  const auto found = groups_.find(*key);
  if (found == groups_.end()) return;
  Group& group = found->second;
  const auto member = group.members.find(pod.metadata.uid);
  if (member == group.members.end()) return;
  Change(group, member->second, Stage::kUnscheduled, "");
  RemoveFromTask(group, member->second.task);
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
  if (!member.task.empty()) {
    std::size_t& scheduled = group.tasks[member.task].scheduled;
    scheduled = scheduled - (was ? 1 : 0) + (is ? 1 : 0);
  }
  member.stage = stage;
  member.node = node;
}

void PodGroups::EraseIfEmpty(const std::string& key) {
  const auto found = groups_.find(key);
  if (found != groups_.end() && found->second.empty()) groups_.erase(found);
}

}  // namespace berth::cluster
