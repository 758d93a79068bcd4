// The resources of one node by NUMA zone, compiled from its NodeResourceTopology.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/counted_interner.hpp"
#include "kubernetes/api/node_resource_topology.hpp"

namespace berth::plugins {

struct NumaResourceTag;
using NumaResourceId = Id<NumaResourceTag>;
// Names of resources of zones. A compiled topology has one use of each of its names.
using NumaResourceNames = CountedInterner<NumaResourceTag>;

// The amount in thousandths, rounded up; amounts beyond +-2^63 thousandths become that bound.
std::int64_t MilliOf(const api::Quantity& quantity);

// Immutable once it is compiled. A zone is a zone of the object with type Node and a name "node-<id>" whose
// id is at most kHighestId; other zones do not count. Zones have the order of the object.
struct NumaTopology {
  static constexpr std::uint64_t kHighestId = 63;
  static constexpr std::size_t kMostResources = 64;  // different names in all zones
  static constexpr std::int64_t kUnknownDistance = 255;
  // Sets of zones are compared only on nodes with at most this number of zones, the kubelet's own default.
  static constexpr std::size_t kMostCombined = 8;

  enum class Scope : std::uint8_t { kContainer, kPod };

  bool single_numa_node = false;  // the policy of the kubelet's topology manager
  Scope scope = Scope::kContainer;
  std::int64_t max_numa_nodes = 8;
  std::vector<std::uint8_t> ids;          // by zone; unique
  std::vector<NumaResourceId> resources;  // ascending
  std::vector<std::uint64_t> listed;      // by resource: a bit by zone that lists it
  std::vector<std::int64_t> available;    // by resource and zone, in thousandths; at least 0
  std::vector<std::int64_t> distances;    // by zone and zone
  // The lowest average distance of all sets of 1, 2, ... zones, at most kUnknownDistance.
  std::array<float, kMostCombined> lowest_distance{};
  // Why the object cannot be used, with the field; empty: it is valid.
  std::string invalid;

  std::size_t zones() const { return ids.size(); }
  // The index of the resource; resources.size() if no zone lists it.
  std::size_t Find(NumaResourceId resource) const;
  // The average distance of the zones at these indices to each other, themselves included.
  float AverageDistance(const std::uint8_t* members, std::size_t count) const;
  friend bool operator==(const NumaTopology&, const NumaTopology&) = default;
};

NumaTopology CompileNumaTopology(const api::NodeResourceTopology& object, NumaResourceNames& names);
// To be called once, before the topology is dropped.
void ReleaseNames(const NumaTopology& topology, NumaResourceNames& names);

// The sets of `count` of `total` indices in lexicographical order; count <= kMostCombined.
class Combinations {
 public:
  Combinations(std::size_t total, std::size_t count);
  const std::uint8_t* members() const { return members_.data(); }
  // Returns false after the last set.
  bool Next();

 private:
  std::size_t total_, count_;
  std::array<std::uint8_t, NumaTopology::kMostCombined> members_{};
};

}  // namespace berth::plugins
