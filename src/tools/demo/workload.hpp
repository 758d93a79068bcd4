// The demonstration's workload: a service, stream and batch jobs, training on GPUs, and a few pods that fit
// no node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace berth::demo {

inline constexpr const char* kNamespace = "demo";
inline constexpr const char* kKindLabel = "demo.berth.dev/kind";

// Kinds of pods with topology constraints: spread evenly over the zones; at most one per node.
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
  bool fits = true;  // false: fits no node
  std::string body;  // JSON
};

struct Workload {
  std::vector<std::string> priority_classes;  // JSON, to be created first
  std::vector<DemoPod> pods;                  // shuffled, as if submitted by many teams
  std::size_t fitting() const;
};

// Creates that many pods. All pods that fit some node also fit together into an otherwise empty cluster of
// that size (they request at most about two thirds of its CPUs), with up to about 80 pods per node.
Workload MakeWorkload(const ClusterSize& size, std::size_t pods, std::uint64_t seed);

inline constexpr const char* kPreemptor = "urgent";
// A pod of that name with high priority, as JSON.
std::string MakePreemptor(std::int64_t milli_cpu);

}  // namespace berth::demo
