// Which nodes could be emptied.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "config/scheduler_config.hpp"
#include "scheduler/assembly/fill_engine.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth::what_if {

struct MovedPod {
  std::string pod, owner;
  std::string from, to;
};
struct EmptiedNode {
  std::string node;
  std::size_t pods = 0;  // that move away from it; 0: it is empty already, except for pods of DaemonSets
};
struct KeptNode {
  std::string node;
  std::string why;  // a sentence without a full stop
};

struct Consolidation {
  std::vector<EmptiedNode> emptied;  // in the order in which they are emptied
  std::vector<MovedPod> moves;  // in their order; a pod moves at most once, from its node to its last one
  std::vector<KeptNode> kept;   // of the nodes that were tried
  std::size_t not_tried = 0;    // nodes, after kMostKept of them in a row were kept
};
inline constexpr std::size_t kMostKept = 200;

// Tries to empty the nodes one after the other, those with the least requested CPU first. A node is emptied
// if the scheduler places each of its pods on another node that remains, without preemption, and if every pod
// has a controller and at most one PodDisruptionBudget, which allows a disruption: pods are evicted one after
// the other. Cordoned nodes receive nothing, and are tried, too. Other orders may empty more nodes. Changes
// nothing. `progress` receives the number of nodes that were tried. Errors are those of the configuration,
// and kCancelled soon after `stop` was set.
Expected<Consolidation> FindConsolidation(const assembly::ClusterContents& cluster,
                                          const config::SchedulerConfig& config,
                                          const runtime::Registry& plugins, const std::atomic<bool>& stop,
                                          const std::function<void(std::size_t)>& progress);

}  // namespace berth::what_if
