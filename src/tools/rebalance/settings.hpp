// The settings of planning: limits, protection, thresholds.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace berth::rebalance {

struct PlanSettings {
  // --- when a node is overloaded, and what is better ---
  Duration window = std::chrono::minutes(10);
  double margin = 10;      // percent below the threshold that the destination must keep
  double min_benefit = 5;  // percent of a node
  // --- limits of moves ---
  std::int64_t per_round = 10;
  std::int64_t per_hour = 60;
  std::int64_t per_node = 1;       // and round: from a node, and to a node
  std::int64_t per_namespace = 5;  // and round
  std::int64_t per_workload = 1;   // and round
  // --- time ---
  // The minimum time between two moves of a workload, the minimum age of its pods, and the minimum time
  // between a move from or to a node and the next move from it.
  Duration cool_down = std::chrono::minutes(15);
  Duration no_return = std::chrono::hours(1);  // a workload does not return to a node that it left
  // --- protection ---
  std::int64_t max_priority = 1'000'000'000;  // pods above it stay
  bool evict_without_controller = false;
  bool evict_with_local_storage = false;
  std::vector<std::string> namespaces;  // empty: all that are not excluded
  std::vector<std::string> excluded_namespaces = {"kube-system"};
};

}  // namespace berth::rebalance
