#include "tools/rebalance/protection.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kubernetes/api/owners.hpp"
#include "scheduler/plugins/load_metrics/workload_usage.hpp"

namespace berth::rebalance {
namespace {

constexpr std::int32_t kSystemCritical = 2'000'000'000;  // scheduling.k8s.io: system-cluster-critical

bool Is(const api::Pod& pod, std::string_view annotation, std::string_view value) {
  const std::string* found = pod.metadata.Annotation(annotation);
  return found != nullptr && *found == value;
}

// Empty: nothing protects the pod.
std::string KindProtection(const api::Pod& pod, const PlanSettings& settings) {
  const auto& controller = pod.metadata.controller;
  if (api::IsMirrorPod(pod.metadata)) return "it is a static pod";
  if (api::IsOfDaemonSet(pod.metadata)) return "it belongs to a DaemonSet";
  if (!controller && !settings.evict_without_controller) return "it has no controller that would recreate it";
  if (pod.spec.priority >= kSystemCritical) return "it is critical for the system";
  if (pod.spec.priority > settings.max_priority)
    return fmt::format("its priority {} is above {}", pod.spec.priority, settings.max_priority);
  if (pod.spec.local_storage && !settings.evict_with_local_storage)
    return "it has local storage (emptyDir or hostPath)";
  if (!pod.spec.resource_claims.empty() || pod.status.extended_resource_claim)
    return "it uses devices of resource claims";
  return {};
}

// A group that loses a member may fall below its minimum, and the member's replacement may wait for the
// others.
std::string GroupProtection(const api::Pod& pod, const cluster::PodGroups& groups) {
  if (pod.spec.pod_group) return fmt::format("it belongs to the pod group {}", *pod.spec.pod_group);
  const std::optional<std::string> key = groups.KeyOf(pod);
  return key ? fmt::format("it belongs to the group {}", *key) : std::string();
}

std::string AnnotationProtection(const api::Pod& pod) {
  for (const std::string_view annotation : {kEvict, kSafeToEvict}) {
    if (Is(pod, annotation, "false")) return fmt::format("its annotation {} is \"false\"", annotation);
  }
  // The descheduler evaluates the presence, whatever the value.
  if (pod.metadata.Annotation(kPreferNoEviction) != nullptr)
    return fmt::format("it has the annotation {}", kPreferNoEviction);
  return {};
}

std::string StateProtection(const api::Pod& pod) {
  if (pod.metadata.deleting()) return "it is being deleted";
  if (pod.status.phase != "Running") return fmt::format("its phase is {}", pod.status.phase.str());
  return {};
}

std::string NamespaceProtection(const api::Pod& pod, const PlanSettings& settings) {
  const std::string& ns = pod.metadata.ns;
  const bool included =
      settings.namespaces.empty() || std::ranges::find(settings.namespaces, ns) != settings.namespaces.end();
  if (!included || std::ranges::find(settings.excluded_namespaces, ns) != settings.excluded_namespaces.end())
    return fmt::format("its namespace {} is not rebalanced", ns);
  return {};
}

std::optional<Verdict> BudgetVerdict(const api::Pod& pod, const cluster::EvictionBudgets& budgets) {
  const cluster::EvictionBudgets::Room room = budgets.For(pod);
  // The API server rejects these evictions.
  if (room.budgets > 1) return Verdict{Rejection::kBudget, "it has more than one PodDisruptionBudget"};
  if (room.budgets == 1 && room.left <= 0)
    return Verdict{Rejection::kBudget,
                   fmt::format("the PodDisruptionBudget {} allows no disruption", room.name)};
  return std::nullopt;
}

std::optional<Verdict> TimeVerdict(const api::Pod& pod, const ProtectionParts& parts) {
  const Duration age = AgeOf(pod, parts.now);
  const Duration cool_down = parts.settings.cool_down;
  if (age < cool_down)
    return Verdict{Rejection::kTooYoung, fmt::format("it started {} ago", ShortDuration(age))};
  const std::string workload = plugins::WorkloadOf(pod);
  if (const auto until = parts.history.RefusedUntil(workload.empty() ? pod.metadata.Key() : workload);
      until && parts.now < *until) {
    return Verdict{Rejection::kCoolDown,
                   fmt::format("its last eviction was refused; the next attempt is in {}",
                               ShortDuration(*until - parts.now))};
  }
  if (workload.empty()) return std::nullopt;
  if (const auto last = parts.history.LastOf(workload); last && parts.now - *last < cool_down) {
    return Verdict{Rejection::kCoolDown,
                   fmt::format("a pod of {} was moved {} ago", workload, ShortDuration(parts.now - *last))};
  }
  // Also covers moves by a process that has ended since.
  if (const Duration newest = parts.workloads.Of(workload).newest; newest < cool_down) {
    return Verdict{Rejection::kTooYoung,
                   fmt::format("another pod of {} started {} ago", workload, ShortDuration(newest))};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Verdict> ProtectionOf(const api::Pod& pod, const ProtectionParts& parts) {
  for (std::string reason :
       {StateProtection(pod), NamespaceProtection(pod, parts.settings), KindProtection(pod, parts.settings),
        GroupProtection(pod, parts.groups), AnnotationProtection(pod)}) {
    if (!reason.empty()) return Verdict{Rejection::kProtected, std::move(reason)};
  }
  if (auto verdict = BudgetVerdict(pod, parts.budgets)) return verdict;
  return TimeVerdict(pod, parts);
}

std::vector<std::string> ProtectingAnnotations() {
  return {std::string(kEvict), std::string(kSafeToEvict), std::string(kPreferNoEviction),
          std::string(api::kMirrorAnnotation)};
}

Duration AgeOf(const api::Pod& pod, WallTime now) {
  if (pod.status.start_time == 0) return {};
  return std::max(Duration{}, now - WallTime(std::chrono::seconds(pod.status.start_time)));
}

std::string ShortDuration(Duration duration) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration).count();
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return fmt::format("{}m", seconds / 60);
  return fmt::format("{}h{}m", seconds / 3600, seconds / 60 % 60);
}

// --- workloads ---

Workloads::Workloads(const cluster::ClusterState& cluster, std::span<const api::PodPtr> pending,
                     WallTime now) {
  std::vector<api::PodPtr> pods(pending.begin(), pending.end());
  cluster.AppendBoundPods(pods);
  for (const api::PodPtr& pod : pods) {
    std::string name = plugins::WorkloadOf(*pod);
    if (name.empty()) continue;
    Workload& workload = workloads_[std::move(name)];
    ++workload.pods;
    workload.newest = std::min(workload.newest, AgeOf(*pod, now));
  }
}

}  // namespace berth::rebalance
