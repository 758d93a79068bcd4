#include "scheduler/cycle/cluster_events.hpp"

#include <algorithm>
#include <map>

#include "kubernetes/api/requests.hpp"
#include "kubernetes/api/same_amounts.hpp"

namespace berth::cycle {
namespace {

using framework::ClusterEvent;
using framework::EventResource;

std::map<std::string, std::string> Conditions(const api::Node& node) {
  std::map<std::string, std::string> conditions;
  for (const api::NodeCondition& condition : node.conditions) conditions[condition.type] = condition.status;
  return conditions;
}

// Whether an amount of `of` is missing from `than` or larger than there. Compared in milli-units, as in
// kube-scheduler.
bool AnyLarger(const api::ResourceList& of, const api::ResourceList& than) {
  return std::ranges::any_of(of, [&](const auto& entry) {
    const auto other = than.find(entry.first);
    return other == than.end() || entry.second.MilliValue() > other->second.MilliValue();
  });
}

}  // namespace

std::vector<ClusterEvent> NodeEvents(const api::Node& before, const api::Node& after) {
  std::vector<ClusterEvent> events;
  const auto add = [&](framework::ActionMask action, const char* label) {
    events.push_back({EventResource::kNode, action, label});
  };
  if (before.unschedulable && !after.unschedulable) add(framework::kUpdateNodeTaint, "NodeUpdateNodeTaint");
  if (!api::SameAmounts(before.allocatable, after.allocatable))
    add(framework::kUpdateNodeAllocatable, "NodeUpdateNodeAllocatable");
  if (before.metadata.labels != after.metadata.labels)
    add(framework::kUpdateNodeLabel, "NodeUpdateNodeLabel");
  if (before.taints != after.taints) add(framework::kUpdateNodeTaint, "NodeUpdateNodeTaint");
  if (Conditions(before) != Conditions(after))
    add(framework::kUpdateNodeCondition, "NodeUpdateNodeCondition");
  if (before.annotations_digest != after.annotations_digest)
    add(framework::kUpdateNodeAnnotation, "NodeUpdateNodeAnnotation");
  if (before.declared_features != after.declared_features)
    add(framework::kUpdateNodeDeclaredFeature, "NodeUpdateNodeDeclaredFeature");
  return events;
}

std::vector<ClusterEvent> PodEvents(const api::Pod& before, const api::Pod& after, EventResource resource) {
  const bool target = resource == EventResource::kTargetPod;
  std::vector<ClusterEvent> events;
  const auto add = [&](framework::ActionMask action, const char* of_target, const char* of_assigned) {
    events.push_back({resource, action, target ? of_target : of_assigned});
  };
  if (before.metadata.labels != after.metadata.labels) {
    add(framework::kUpdatePodLabel, "TargetPodUpdatePodLabel", "AssignedPodUpdatePodLabel");
  }
  const api::ResourceList old_requests = api::PodRequests(before, {.use_status = true});
  const api::ResourceList new_requests = api::PodRequests(after, {.use_status = true});
  if (AnyLarger(old_requests, new_requests)) {
    add(framework::kUpdatePodScaleDown, "TargetPodUpdatePodScaleDown", "AssignedPodUpdatePodScaleDown");
  }
  if (AnyLarger(new_requests, old_requests)) {
    add(framework::kUpdatePodScaleUp, "TargetPodUpdatePodScaleUp", "AssignedPodUpdatePodScaleUp");
  }
  if (!before.spec.scheduling_gates.empty() && after.spec.scheduling_gates.empty()) {
    add(framework::kUpdatePodSchedulingGatesEliminated, "TargetPodUpdatePodSchedulingGatesEliminated",
        "AssignedPodUpdatePodSchedulingGatesEliminated");
  }
  if (before.spec.tolerations.size() != after.spec.tolerations.size()) {
    add(framework::kUpdatePodToleration, "TargetPodUpdatePodToleration", "AssignedPodUpdatePodToleration");
  }
  if (before.status.resource_claim_statuses != after.status.resource_claim_statuses ||
      before.status.extended_resource_claim != after.status.extended_resource_claim) {
    add(framework::kUpdatePodGeneratedResourceClaim, "TargetPodUpdatePodGeneratedResourceClaim",
        "AssignedPodUpdatePodGeneratedResourceClaim");
  }
  if (events.empty()) add(framework::kUpdate, "TargetPodUpdate", "AssignedPodUpdate");
  return events;
}

}  // namespace berth::cycle
