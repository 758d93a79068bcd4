// Plans which pods to evict so that overloaded nodes lose load and no other node becomes overloaded.
#pragma once

#include <span>

#include "base/result.hpp"
#include "config/scheduler_config.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/runtime/registry.hpp"
#include "tools/rebalance/measured_load.hpp"
#include "tools/rebalance/move_history.hpp"
#include "tools/rebalance/plan.hpp"
#include "tools/rebalance/settings.hpp"

namespace berth::rebalance {

struct PlanInput {
  const config::SchedulerConfig& config;  // without extenders
  const runtime::Registry& plugins;
  assembly::Engine& live;                // the cluster; only read
  std::span<const api::PodPtr> pending;  // pods without a node
  const MeasuredLoad& load;
  const MoveHistory& history;
  const PlanSettings& settings;
  const Clock& clock;
};

// Has no effects. A node is overloaded if a signal is above its threshold now and during the whole window.
// A pod is moved only if, in a copy of the cluster,
//   - the scheduler would place its replacement on other nodes, all of which stay below their thresholds by
//     the margin with the load of the pod, and
//   - with the load moved as well, the old node is clearly worse than the new one, and
//   - no node that the workload left recently is nearly as good: the cluster may change between the plan and
//     the placement.
// Moves are ranked by benefit minus cost. After each move, the following ones are evaluated again in the
// changed copy. Nothing is planned if a signal, or the usage of pods, is not current.
//
// At most 8 pods of a node and 256 in all are evaluated. Errors: the copy of the cluster cannot be built.
Expected<Plan> MakePlan(const PlanInput& input);

}  // namespace berth::rebalance
