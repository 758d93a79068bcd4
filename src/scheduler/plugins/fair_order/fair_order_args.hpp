// Arguments of FairOrder.
//
//   tenantLabel: example.com/team   # label of pods that names the tenant; without it, the namespace
//   separator: "."                  # the label is a path: "research.vision" is a part of "research"
//   tenants:                        # weights, and without a separator the tree; others are below the root
//   - {name: research, weight: 2}
//   - {name: vision, parent: research, weight: 3}
//   defaultWeight: 1
//   resources: [cpu, memory, pods, nvidia.com/gpu]
//   priority: WithinTenant          # or BeforeTenant
//   ageing: 10m                     # 0: off
//   maxTenants: 10000               # further tenants share one place
//   maxTenantSeries: 100            # tenants with metrics
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/framework/factory.hpp"

namespace berth::plugins {

struct FairOrderArgs {
  struct Tenant {
    std::string name;                   // with a separator: the path
    std::string parent = {};            // the name of another tenant; empty: below the root
    std::optional<double> weight = {};  // absent: the default weight
  };
  // What counts first: the order of tenants, or the priority of their pods.
  enum class Priority : std::uint8_t { kWithinTenant, kBeforeTenant };

  static constexpr std::size_t kMostResources = 16;
  static constexpr std::int64_t kMostTenants = 10'000;
  static constexpr std::int64_t kMostSeries = 1000;
  static constexpr std::size_t kDeepest = 8;  // names in a path
  static constexpr double kLowestWeight = 0.001, kHighestWeight = 1'000'000;

  std::string tenant_label;  // empty: the namespace
  std::string separator;     // empty: names are no paths
  std::vector<Tenant> tenants;
  double default_weight = 1;
  std::vector<std::string> resources = {"cpu", "memory", "pods", "nvidia.com/gpu"};
  Priority priority = Priority::kWithinTenant;
  std::chrono::nanoseconds ageing = std::chrono::minutes(10);  // 0: off
  std::int64_t max_tenants = kMostTenants;
  std::int64_t max_series = 100;
};

Expected<FairOrderArgs> ParseFairOrderArgs(const framework::RawArgs& args);
config::ArgsCodec FairOrderArgsCodec();

}  // namespace berth::plugins
