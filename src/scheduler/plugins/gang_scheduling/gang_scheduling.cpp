#include "scheduler/plugins/gang_scheduling/gang_scheduling.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace berth::plugins {

using cluster::PodGroups;
using framework::EventResource;
using framework::Hint;
using framework::Status;

namespace {

constexpr Duration kPermitTimeout = std::chrono::minutes(5);

constexpr const char* kTooFewMembers = "waiting for minCount pods from a gang to appear in scheduling queue";

// The name of the group in messages.
std::string_view NameOf(std::string_view key) { return key.substr(key.rfind('/') + 1); }

std::string TreeIncomplete(std::string_view root) {
  return fmt::format("waiting for composite pod group \"{}\" tree to meet quorum", NameOf(root));
}

std::string NoSnapshot(std::string_view reason) {
  return fmt::format("failed to build hierarchy snapshot: {}", reason);
}

// The same without an object or a member.
std::string Missing(const PodGroups::Group* group, std::string_view key) {
  const std::string_view what =
      group == nullptr ? "pod group state not found for" : "pod group object not found in state for";
  return fmt::format("{} {}", what, cluster::KeyInMessages(key));
}

}  // namespace

GangScheduling::GangScheduling(framework::Handle& handle)
    : handle_(handle),
      groups_(handle.groups),
      in_trees_(handle.gates.Enabled("CompositePodGroup")),
      shared_(handle.Keep<Shared>("GangScheduling")),
      waiting_(shared_->waiting ? *shared_->waiting : shared_->waiting.emplace(handle)) {}

Status GangScheduling::PreEnqueue(const cluster::PodInfo& pod) const {
  const auto key = groups_.KeyOf(*pod.pod);
  if (!key || groups_.IsExternal(*key)) return {};
  if (in_trees_) return PreEnqueueInTrees(*key);
  const PodGroups::Group* group = groups_.Find(*key);
  if (group == nullptr || group->object == nullptr) {
    return Status::Unresolvable(
        fmt::format("waiting for pods's pod group \"{}\" to appear in scheduling queue", NameOf(*key)));
  }
  if (!group->object->gang) return {};
  if (std::cmp_less(group->members.size(), group->object->gang->min_count))
    return Status::Unresolvable(kTooFewMembers);
  return {};
}

Status GangScheduling::PreEnqueueInTrees(const std::string& key) const {
  const PodGroups::Group* group = groups_.Find(key);
  if (group == nullptr || group->object == nullptr)
    return Status::Unresolvable(NoSnapshot(Missing(group, key)));
  const auto parent = groups_.ParentOf(*group->object);
  if (!parent) return IsGroupReady(key, Counted::kAll, 0) ? Status{} : Status::Unresolvable(kTooFewMembers);
  const auto root = RootAbove(*parent);
  if (!root) return Status::Unresolvable(NoSnapshot(root.error().message));
  if (!IsReady(*root, Counted::kAll)) return Status::Unresolvable(TreeIncomplete(*root));
  return {};
}

// kube-scheduler looks for the root in a copy of the tree, whose highest group is three levels above the
// first composite group.
Expected<std::string> GangScheduling::RootAbove(const std::string& composite) const {
  std::string current = composite;
  for (std::size_t level = 1; level <= PodGroups::kLevels; ++level) {
    const PodGroups::Composite* known = groups_.FindComposite(current);
    const bool highest = level == PodGroups::kLevels;
    if (known == nullptr && !highest) {
      return Invalid(
          fmt::format("parent composite pod group state not found for {}", cluster::KeyInMessages(current)));
    }
    if (known == nullptr || known->object == nullptr) {
      return Invalid(fmt::format("composite pod group object not found in state for {}",
                                 cluster::KeyInMessages(highest ? composite : current)));
    }
    auto parent = groups_.ParentOf(*known->object);
    if (!parent) return current;
    current = *std::move(parent);
  }
  return Invalid(
      fmt::format("composite pod group object not found in state for {}", cluster::KeyInMessages(composite)));
}

std::size_t GangScheduling::CountIn(const PodGroups::Group& group, Counted counted) {
  return counted == Counted::kAll ? group.members.size() : group.scheduled;
}

bool GangScheduling::IsReady(const std::string& root, Counted counted) const {
  if (last_.root != root || last_.counted != counted || last_.version != groups_.version())
    last_ = {root, counted, groups_.version(), IsGroupReady(root, counted, 0)};
  return last_.ready;
}

bool GangScheduling::IsGroupReady(const std::string& key, Counted counted, std::size_t level) const {
  const api::PodGroupPtr object = groups_.FindObject(key);
  if (object == nullptr || level == PodGroups::kMostLevels) return false;
  const auto wanted = object->min_count();
  if (!object->composite) return !std::cmp_less(CountIn(*groups_.Find(key), counted), wanted);
  std::size_t ready = 0;
  for (const std::string& child : groups_.FindComposite(key)->children)
    ready += IsGroupReady(child, counted, level + 1) ? 1 : 0;
  return !std::cmp_less(ready, wanted);
}

Status MinCountStatus(std::int32_t wanted, const framework::PlacementProgress& progress) {
  if (std::cmp_less(progress.remaining + progress.scheduled, wanted)) {
    return Status::Unschedulable(fmt::format("minCount ({}) cannot be satisfied: {} scheduled, {} remaining",
                                             wanted, progress.scheduled, progress.remaining));
  }
  // After each member of a large group. Without a text, which would have no reader: members remain, so that
  // this is not the last answer.
  if (std::cmp_less(progress.scheduled, wanted)) return {framework::Code::kWait, {}, {}};
  return {};
}

Status GangScheduling::PlacementFeasible(const api::PodGroup& group,
                                         const framework::PlacementProgress& progress) const {
  return MinCountStatus(group.min_count(), progress);
}

framework::PermitResult GangScheduling::Permit(const framework::Placement& placement) {
  const auto key = groups_.KeyOf(*placement.pod.pod);
  if (!key || groups_.IsExternal(*key)) return {};
  const PodGroups::Group* group = groups_.Find(*key);
  if (group == nullptr || group->object == nullptr) {
    if (in_trees_) return {Status::Error(NoSnapshot(Missing(group, *key)))};
    return {Status::Error(fmt::format(
        "failed to get podGroup {}: podgroup.scheduling.k8s.io \"{}\" not found", *key, NameOf(*key)))};
  }
  const std::string& uid = placement.pod.pod->metadata.uid;
  if (const auto parent = groups_.ParentOf(*group->object)) {
    const auto root = RootAbove(*parent);
    if (!root) return {Status::Error(NoSnapshot(root.error().message))};
    return PermitInTree(*key, *root, uid);
  }
  if (!group->object->gang) return {};
  if (std::cmp_less(group->scheduled, group->object->gang->min_count)) {
    // Other members may have been waiting for this one.
    handle_.scheduler.ActivateMembers(*key);
    waiting_.Keep(*key, uid);
    return {{framework::Code::kWait, {"waiting for minCount pods from a gang to be scheduled"}, {}},
            kPermitTimeout};
  }
  waiting_.Allow(*key, Name());
  return {};
}

framework::PermitResult GangScheduling::PermitInTree(const std::string& key, const std::string& root,
                                                     const std::string& uid) {
  if (!IsReady(root, Counted::kScheduled)) {
    handle_.scheduler.ActivateMembers(root);
    waiting_.Keep(key, uid);
    return {{framework::Code::kWait, {TreeIncomplete(root)}, {}}, kPermitTimeout};
  }
  for (const std::string& leaf : groups_.LeavesOf(root)) waiting_.Allow(leaf, Name());
  return {};
}

bool GangScheduling::AreInOneTree(const cluster::PodInfo& waiting, const std::string& key) const {
  const auto group = groups_.KeyOf(*waiting.pod);
  if (!group) return false;
  if (!in_trees_) return *group == key;
  const auto root = groups_.RootOf(*group);
  return root && root == groups_.RootOf(key);
}

// A pod cannot leave its group, so its own updates do not matter.
std::vector<framework::EventRegistration> GangScheduling::EventsToRegister() const {
  const auto pod_added = [this](const cluster::PodInfo& waiting, const api::Pod*, const api::Pod* added) {
    const auto group = groups_.KeyOf(*added);
    return framework::QueueIf(group && AreInOneTree(waiting, *group));
  };
  const auto group_added = [this](const cluster::PodInfo& waiting, const api::PodGroup*,
                                  const api::PodGroup* added) {
    return framework::QueueIf(AreInOneTree(waiting, cluster::KeyOf(*added)));
  };
  const auto composite_added = [this](const cluster::PodInfo& waiting, const api::CompositePodGroup*,
                                      const api::CompositePodGroup* added) {
    return framework::QueueIf(AreInOneTree(waiting, cluster::KeyOf(*added)));
  };
  const auto group_updated = [this](const cluster::PodInfo& waiting, const api::PodGroup* before,
                                    const api::PodGroup* after) {
    if (!before->gang || !after->gang || !AreInOneTree(waiting, cluster::KeyOf(*after))) return Hint::kSkip;
    return framework::QueueIf(after->gang->min_count < before->gang->min_count);
  };
  std::vector<framework::EventRegistration> events = {
      framework::When<api::Pod>(EventResource::kUnscheduledPod, framework::kAdd, pod_added),
      framework::When<api::Pod>(EventResource::kAssignedPod, framework::kAdd, pod_added),
      framework::When<api::PodGroup>(EventResource::kPodGroup, framework::kAdd, group_added),
      framework::When<api::PodGroup>(EventResource::kPodGroup, framework::kUpdate, group_updated)};
  if (in_trees_)
    events.push_back(framework::When<api::CompositePodGroup>(EventResource::kCompositePodGroup,
                                                             framework::kAdd, composite_added));
  return events;
}

}  // namespace berth::plugins
