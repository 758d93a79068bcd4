#include "scheduler/cluster/pod_groups.hpp"

#include <algorithm>
#include <tuple>

#include "base/check.hpp"

namespace berth::cluster {
namespace {

constexpr std::string_view kComposites = "/compositepodgroups.scheduling.k8s.io/";

}  // namespace

std::string KeyOf(const api::PodGroup& group) {
  return group.composite ? CompositeKey(group.metadata.ns.str(), group.metadata.name) : group.metadata.Key();
}

std::string CompositeKey(std::string_view ns, std::string_view name) {
  std::string key(ns);
  key.append(kComposites).append(name);
  return key;
}

std::string KeyInMessages(std::string_view key) {
  const std::size_t at = key.find(kComposites);
  if (at == std::string_view::npos) return "podgroup/" + std::string(key);
  std::string text = "compositepodgroup/";
  text.append(key.substr(0, at)).append("/").append(key.substr(at + kComposites.size()));
  return text;
}

std::string TooManyLevels(std::string_view key) {
  return "exceeded maximum hierarchy depth at " + KeyInMessages(key);
}

std::optional<std::string> NestedGroups::ParentOf(const api::PodGroup& group) const {
  if (group.parent.empty()) return std::nullopt;
  return CompositeKey(group.metadata.ns.str(), group.parent);
}

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
  if (const Group* group = Find(key)) return group->object;
  const Composite* composite = FindComposite(key);
  return composite == nullptr ? nullptr : composite->object;
}

const PodGroups::Composite* PodGroups::FindComposite(std::string_view key) const {
  const auto found = composites_.find(key);
  return found == composites_.end() ? nullptr : &found->second;
}

// --- trees ---

std::optional<std::string> PodGroups::RootOf(std::string_view key) const {
  std::string current(key);
  for (std::size_t level = 0; level < kMostLevels; ++level) {
    const api::PodGroupPtr object = FindObject(current);
    if (object == nullptr) return std::nullopt;
    auto parent = ParentOf(*object);
    if (!parent) return current;
    current = *std::move(parent);
  }
  return std::nullopt;
}

std::vector<std::string> PodGroups::LeavesOf(const std::string& key) const {
  std::vector<std::string> leaves;
  AddToLeaves(key, 0, leaves);
  return leaves;
}

// Groups without an object are not among the children.
void PodGroups::AddToLeaves(const std::string& key, std::size_t level,
                            std::vector<std::string>& leaves) const {
  const Composite* composite = FindComposite(key);
  if (composite == nullptr) return leaves.push_back(key);
  if (level == kMostLevels) return;
  for (const std::string& child : composite->children) AddToLeaves(child, level + 1, leaves);
}

GroupTree PodGroups::TreeOf(const std::string& key) const { return TreeAt(key, FindObject(key), 0); }

GroupTree PodGroups::TreeAt(const std::string& key, api::PodGroupPtr object, std::size_t level) const {
  BERTH_CHECK(object != nullptr, key, level);
  GroupTree tree{key, std::move(object), {}};
  const Composite* composite = FindComposite(key);
  if (composite == nullptr || level == kMostLevels) return tree;
  for (const std::string& child : composite->children)
    tree.children.push_back(TreeAt(child, FindObject(child), level + 1));
  std::ranges::sort(tree.children, [](const GroupTree& a, const GroupTree& b) {
    return std::tie(a.object->creation_timestamp, a.object->metadata.name, a.key) <
           std::tie(b.object->creation_timestamp, b.object->metadata.name, b.key);
  });
  return tree;
}

void PodGroups::Link(const std::string& key, const std::string& parent) {
  composites_[parent].children.insert(key);
}

void PodGroups::Unlink(const std::string& key, const std::string& parent) {
  const auto found = composites_.find(parent);
  if (found == composites_.end()) return;
  found->second.children.erase(key);
  if (found->second.object == nullptr && found->second.children.empty()) composites_.erase(found);
}

// --- changes ---

void PodGroups::PutObject(api::PodGroupPtr object) {
  ++version_;
  const std::string key = cluster::KeyOf(*object);
  const api::PodGroupPtr before = FindObject(key);
  const auto old_parent = before == nullptr ? std::nullopt : ParentOf(*before);
  const auto parent = ParentOf(*object);
  if (old_parent && old_parent != parent) Unlink(key, *old_parent);
  if (parent && old_parent != parent) Link(key, *parent);
  if (object->composite) {
    composites_[key].object = std::move(object);
    return;
  }
  Group& group = groups_[key];
  group.object = std::move(object);
  group.described = false;
}

void PodGroups::RemoveObject(std::string_view key) {
  ++version_;
  const std::string removed(key);
  const api::PodGroupPtr object = FindObject(removed);
  if (object == nullptr) return;
  if (const auto parent = ParentOf(*object)) Unlink(removed, *parent);
  if (object->composite) {
    const auto found = composites_.find(removed);
    found->second.object = nullptr;
    if (found->second.children.empty()) composites_.erase(found);
    return;
  }
  Group& group = groups_.find(removed)->second;
  group.object = nullptr;
  group.described = false;
  EraseIfEmpty(removed);
}

void PodGroups::Put(const api::PodPtr& pod) {
  const External* const external = Keep(*pod);
  const std::optional<std::string> key = KeyOf(*pod);
  if (!key) return;
  ++version_;
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
  ++version_;
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
  ++version_;
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
