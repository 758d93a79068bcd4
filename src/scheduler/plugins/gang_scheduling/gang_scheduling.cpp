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

// The name of the group in messages.
std::string_view NameOf(std::string_view key) { return key.substr(key.find('/') + 1); }

}  // namespace

Status GangScheduling::PreEnqueue(const cluster::PodInfo& pod) const {
  const auto key = groups_.KeyOf(*pod.pod);
  if (!key || groups_.IsExternal(*key)) return {};
  const PodGroups::Group* group = groups_.Find(*key);
  if (group == nullptr || group->object == nullptr) {
    return Status::Unresolvable(
        fmt::format("waiting for pods's pod group \"{}\" to appear in scheduling queue", NameOf(*key)));
  }
  if (!group->object->gang) return {};
  if (std::cmp_less(group->members.size(), group->object->gang->min_count))
    return Status::Unresolvable("waiting for minCount pods from a gang to appear in scheduling queue");
  return {};
}

Status MinCountStatus(std::int32_t wanted, const framework::PlacementProgress& progress) {
  if (std::cmp_less(progress.remaining + progress.scheduled, wanted)) {
    return Status::Unschedulable(fmt::format("minCount ({}) cannot be satisfied: {} scheduled, {} remaining",
                                             wanted, progress.scheduled, progress.remaining));
  }
  if (std::cmp_less(progress.scheduled, wanted)) {
    return {framework::Code::kWait,
            {fmt::format("minCount ({}) is not yet satisfied: {} scheduled, {} remaining", wanted,
                         progress.scheduled, progress.remaining)},
            {}};
  }
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
    return {Status::Error(fmt::format(
        "failed to get podGroup {}: podgroup.scheduling.k8s.io \"{}\" not found", *key, NameOf(*key)))};
  }
  if (!group->object->gang) return {};
  if (std::cmp_less(group->scheduled, group->object->gang->min_count)) {
    // Other members may have been waiting for this one.
    handle_.scheduler.ActivateMembers(*key);
    waiting_.Keep(*key, placement.pod.pod->metadata.uid);
    return {{framework::Code::kWait, {"waiting for minCount pods from a gang to be scheduled"}, {}},
            kPermitTimeout};
  }
  waiting_.Allow(*key, Name());
  return {};
}

// A pod cannot leave its group, so its own updates do not matter.
std::vector<framework::EventRegistration> GangScheduling::EventsToRegister() const {
  const auto pod_added = [this](const cluster::PodInfo& waiting, const api::Pod*, const api::Pod* added) {
    const auto group = groups_.KeyOf(*waiting.pod);
    return group && group == groups_.KeyOf(*added) ? Hint::kQueue : Hint::kSkip;
  };
  const auto group_added = [this](const cluster::PodInfo& waiting, const api::PodGroup*,
                                  const api::PodGroup* added) {
    const auto group = groups_.KeyOf(*waiting.pod);
    return group && *group == added->metadata.Key() ? Hint::kQueue : Hint::kSkip;
  };
  const auto group_updated = [this](const cluster::PodInfo& waiting, const api::PodGroup* before,
                                    const api::PodGroup* after) {
    const auto group = groups_.KeyOf(*waiting.pod);
    if (!group || *group != after->metadata.Key() || !before->gang || !after->gang) return Hint::kSkip;
    return after->gang->min_count < before->gang->min_count ? Hint::kQueue : Hint::kSkip;
  };
  return {framework::When<api::Pod>(EventResource::kUnscheduledPod, framework::kAdd, pod_added),
          framework::When<api::Pod>(EventResource::kAssignedPod, framework::kAdd, pod_added),
          framework::When<api::PodGroup>(EventResource::kPodGroup, framework::kAdd, group_added),
          framework::When<api::PodGroup>(EventResource::kPodGroup, framework::kUpdate, group_updated)};
}

}  // namespace berth::plugins
