// What the demonstration asks a cluster to run: a service, stream and batch jobs, training on GPUs, and a few
// pods that no node can ever take.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace berth::demo {

inline constexpr const char* kNamespace = "demo";
inline constexpr const char* kKindLabel = "demo.berth.dev/kind";

// Kinds whose pods look at each other: evenly over the zones; never two on one node.
inline constexpr const char* kSpreadOverZones = "spread-over-zones";
inline constexpr const char* kOnePerNode = "cache-one-per-node";

struct ClusterSize {
  std::size_t nodes = 500;
  std::size_t gpu_nodes = 20;
  std::size_t zones = 3;
};

struct DemoPod {
  std::string name;
  std::string kind;
  bool fits = true;  // false: no node will ever take it
  std::string body;  // JSON
};

struct Workload {
  std::vector<std::string> priority_classes;  // JSON, to be created first
  std::vector<DemoPod> pods;                  // shuffled: as if many teams submitted at once
  std::size_t fitting() const;
};

// As many pods as asked for. All but the ones that never fit do fit into a cluster of that size that is
// otherwise empty (they ask for about two thirds of its CPUs at most), as long as there are no more than some
// 80 pods per node.
Workload MakeWorkload(const ClusterSize& size, std::size_t pods, std::uint64_t seed);

inline constexpr const char* kLatecomer = "latecomer";
// A pod of that name and high priority, as JSON.
std::string MakeLatecomer(std::int64_t milli_cpu);

}  // namespace berth::demo
