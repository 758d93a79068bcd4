#include "kubernetes/api/decode_common.hpp"

#include <algorithm>
#include <array>

#include "kubernetes/api/read_conditions.hpp"
#include "kubernetes/api/timestamp.hpp"

namespace berth::api {
bool IsInTreeAnnotation(std::string_view key) {
  // Annotations can take kilobytes per object; these are the only ones that the plugins of v1.37.1 read.
  static constexpr std::array<std::string_view, 6> kRead = {
      "pv.kubernetes.io/bind-completed",
      "pv.kubernetes.io/bound-by-controller",
      "resource.kubernetes.io/extended-resource-claim",
      "storage.alpha.kubernetes.io/migrated-plugins",
      "volume.beta.kubernetes.io/storage-class",
      "volume.kubernetes.io/selected-node",
  };
  return std::ranges::find(kRead, key) != kRead.end();
}

bool KeepsWholeCondition(const Pod& pod, const PodCondition& condition) {
  return pod.spec.node_name.empty() || IsReadOnNodes(condition);
}

bool IsScheduled(const PodCondition& condition) {
  return condition.type == "PodScheduled" && condition.status == "True";
}

void TrimConditions(Pod& pod) {
  if (pod.spec.node_name.empty()) return;
  for (PodCondition& condition : pod.status.conditions) {
    if (KeepsWholeCondition(pod, condition)) continue;
    if (IsScheduled(condition) && !condition.last_transition_time.empty())
      pod.status.scheduled_time = ParseTimestamp(condition.last_transition_time).value_or(0);
    PodCondition kept;
    kept.type = std::move(condition.type);
    kept.status = std::move(condition.status);
    condition = std::move(kept);
  }
}

std::optional<WatchEventType> EventType(std::string_view name) {
  if (name == "ADDED") return WatchEventType::kAdded;
  if (name == "MODIFIED") return WatchEventType::kModified;
  if (name == "DELETED") return WatchEventType::kDeleted;
  if (name == "BOOKMARK") return WatchEventType::kBookmark;
  if (name == "ERROR") return WatchEventType::kError;
  return std::nullopt;
}

}  // namespace berth::api
