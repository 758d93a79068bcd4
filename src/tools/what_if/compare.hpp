// What another configuration changes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/scheduler_config.hpp"
#include "scheduler/assembly/fill_engine.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth::what_if {

// A pod that the two configurations place differently.
struct ChangedPlacement {
  struct Choice {
    std::string node;       // empty: none fits
    std::size_t equal = 0;  // nodes with the same total, with it
    // The totals of both chosen nodes with this configuration; nullopt: the node does not fit, or only one
    // node fits and nothing was scored.
    std::optional<std::int64_t> own_total, other_total;
    std::string failure;  // why none fits
  };
  std::string pod, owner;
  std::string bound_to;  // of a running pod
  Choice before, after;
};

struct Comparison {
  std::size_t pods = 0;  // evaluated
  std::vector<ChangedPlacement> changed;
  // Over pods with the same placement that have a total with both: how many have another total, and the
  // largest difference.
  std::size_t other_totals = 0;
  std::int64_t largest_difference = 0;
};

// Which pods are evaluated.
enum class ComparedPods : std::uint8_t { kPending, kAll };

// Evaluates each pod alone with both configurations on the same cluster; a running pod as if it were not
// there. A placement has changed if neither configuration's node is among the best nodes of the other one.
// Without extenders. `progress` receives the number of evaluated pods. Errors are those of the
// configurations, and kCancelled soon after `stop` was set.
Expected<Comparison> CompareConfigs(const assembly::ClusterContents& cluster,
                                    const config::SchedulerConfig& before,
                                    const config::SchedulerConfig& after, const runtime::Registry& plugins,
                                    ComparedPods pods, const std::atomic<bool>& stop,
                                    const std::function<void(std::size_t)>& progress);

}  // namespace berth::what_if
