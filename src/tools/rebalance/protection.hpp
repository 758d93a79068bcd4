// Which pods are never evicted.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_map.hpp"
#include "scheduler/cluster/cluster_state.hpp"
#include "scheduler/cluster/eviction_budgets.hpp"
#include "scheduler/cluster/pod_groups.hpp"
#include "tools/rebalance/move_history.hpp"
#include "tools/rebalance/plan.hpp"
#include "tools/rebalance/settings.hpp"

namespace berth::rebalance {

// Annotations that forbid an eviction.
inline constexpr std::string_view kEvict = "rebalance.berth.dev/evict";                             // "false"
inline constexpr std::string_view kSafeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict";  // "false"
inline constexpr std::string_view kPreferNoEviction = "descheduler.alpha.kubernetes.io/prefer-no-eviction";
// All of them: decoders must retain these keys.
std::vector<std::string> ProtectingAnnotations();

struct Verdict {
  Rejection why{};
  std::string reason;
};

// The workloads of all pods: how many pods they have, and the age of the newest.
class Workloads {
 public:
  Workloads(const cluster::ClusterState& cluster, std::span<const api::PodPtr> pending, WallTime now);
  struct Workload {
    std::size_t pods = 0;
    Duration newest = Duration::max();  // age; zero for pods that have not started
  };
  Workload Of(const std::string& name) const {
    const auto found = workloads_.find(name);
    return found == workloads_.end() ? Workload() : found->second;
  }

 private:
  TextMap<Workload> workloads_;
};

struct ProtectionParts {
  const PlanSettings& settings;
  const MoveHistory& history;
  const Workloads& workloads;
  const cluster::EvictionBudgets& budgets;
  const cluster::PodGroups& groups;
  WallTime now;
};

// The reason why a bound pod must not be evicted; nullopt: it may be.
std::optional<Verdict> ProtectionOf(const api::Pod& pod, const ProtectionParts& parts);

// The time since the pod started; zero: it has not started.
Duration AgeOf(const api::Pod& pod, WallTime now);
// "3h20m", "45s".
std::string ShortDuration(Duration duration);

}  // namespace berth::rebalance
