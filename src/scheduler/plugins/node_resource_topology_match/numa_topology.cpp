#include "scheduler/plugins/node_resource_topology_match/numa_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/go_scalars.hpp"

namespace berth::plugins {
namespace {

using Object = api::NodeResourceTopology;
using Scope = NumaTopology::Scope;

void ReadConfiguration(const Object& object, NumaTopology& out);
std::vector<const Object::Zone*> NumaZonesOf(const Object& object, NumaTopology& out);
void ReadResources(const std::vector<const Object::Zone*>& zones, NumaResourceNames& names,
                   NumaTopology& out);
void ReadDistances(const std::vector<const Object::Zone*>& zones, NumaTopology& out);

constexpr std::int64_t kHighestMaxNumaNodes = 1024;

// nullopt: no zone that counts.
std::optional<std::uint8_t> IdOf(std::string_view zone_name) {
  constexpr std::string_view kPrefix = "node-";
  if (!zone_name.starts_with(kPrefix)) return std::nullopt;
  const auto id = ParseGoDecimal(zone_name.substr(kPrefix.size()), 64);
  if (!id || *id < 0 || *id > static_cast<std::int64_t>(NumaTopology::kHighestId)) return std::nullopt;
  return static_cast<std::uint8_t>(*id);
}

}  // namespace

std::int64_t MilliOf(const api::Quantity& quantity) {
  static const api::Quantity highest = api::Quantity::FromInteger(INT64_MAX / 1000);
  static const api::Quantity lowest = api::Quantity::FromInteger(-(INT64_MAX / 1000));
  if (quantity.Compare(highest) > 0) return INT64_MAX;
  if (quantity.Compare(lowest) < 0) return -INT64_MAX;
  return quantity.MilliValue();
}

NumaTopology CompileNumaTopology(const Object& object, NumaResourceNames& names) {
  NumaTopology topology;
  ReadConfiguration(object, topology);
  const auto zones = NumaZonesOf(object, topology);
  if (topology.invalid.empty()) ReadResources(zones, names, topology);
  if (topology.invalid.empty()) ReadDistances(zones, topology);
  return topology;
}

void ReleaseNames(const NumaTopology& topology, NumaResourceNames& names) {
  for (const NumaResourceId resource : topology.resources) names.Release(resource);
}

std::size_t NumaTopology::Find(NumaResourceId resource) const {
  const auto found = std::ranges::lower_bound(resources, resource);
  return found != resources.end() && *found == resource ? static_cast<std::size_t>(found - resources.begin())
                                                        : resources.size();
}

float NumaTopology::AverageDistance(const std::uint8_t* members, std::size_t count) const {
  std::int64_t sum = 0;
  for (std::size_t from = 0; from < count; ++from) {
    for (std::size_t to = 0; to < count; ++to) sum += distances[members[from] * zones() + members[to]];
  }
  return static_cast<float>(sum) / static_cast<float>(count * count);
}

Combinations::Combinations(std::size_t total, std::size_t count) : total_(total), count_(count) {
  for (std::size_t i = 0; i < count; ++i) members_[i] = static_cast<std::uint8_t>(i);
}

bool Combinations::Next() {
  std::size_t at = count_;
  while (at > 0 && members_[at - 1] == total_ - count_ + at - 1) --at;
  if (at == 0) return false;
  ++members_[at - 1];
  for (; at < count_; ++at) members_[at] = static_cast<std::uint8_t>(members_[at - 1] + 1);
  return true;
}

namespace {

void ReadPolicy(std::string_view policy, NumaTopology& out) {
  struct Known {
    std::string_view name;
    bool single_numa_node;
    Scope scope;
  };
  static constexpr Known kKnown[] = {{"SingleNUMANodePodLevel", true, Scope::kPod},
                                     {"SingleNUMANodeContainerLevel", true, Scope::kContainer},
                                     {"BestEffortPodLevel", false, Scope::kPod},
                                     {"BestEffortContainerLevel", false, Scope::kContainer},
                                     {"RestrictedPodLevel", false, Scope::kPod},
                                     {"RestrictedContainerLevel", false, Scope::kContainer}};
  for (const Known& known : kKnown) {
    if (known.name != policy) continue;
    out.single_numa_node = known.single_numa_node;
    out.scope = known.scope;
  }
}

void ReadAttribute(const Object::Attribute& attribute, NumaTopology& out) {
  const std::string& value = attribute.value;
  if (attribute.name == "topologyManagerScope") {
    if (value == "pod") out.scope = Scope::kPod;
    if (value == "container") out.scope = Scope::kContainer;
  } else if (attribute.name == "topologyManagerPolicy") {
    if (value == "none" || value == "best-effort" || value == "restricted") out.single_numa_node = false;
    if (value == "single-numa-node") out.single_numa_node = true;
  } else if (attribute.name == "topologyManagerMaxNUMANodes") {
    const auto number = ParseGoDecimal(value, 64);
    if (number && *number > 1) out.max_numa_nodes = std::min(*number, kHighestMaxNumaNodes);
  }
}

// Attributes win; of the deprecated policies the first counts. Unknown values are ignored.
void ReadConfiguration(const Object& object, NumaTopology& out) {
  if (!object.topology_policies.empty()) ReadPolicy(object.topology_policies[0], out);
  for (const Object::Attribute& attribute : object.attributes) ReadAttribute(attribute, out);
}

std::vector<const Object::Zone*> NumaZonesOf(const Object& object, NumaTopology& out) {
  std::vector<const Object::Zone*> zones;
  std::uint64_t seen = 0;
  for (const Object::Zone& zone : object.zones) {
    const auto id = zone.type == "Node" ? IdOf(zone.name) : std::nullopt;
    if (!id) continue;
    if ((seen >> *id & 1) != 0) {
      out.invalid = fmt::format("zones: several zones have the NUMA id {}: must be unique", *id);
      return {};
    }
    seen |= std::uint64_t{1} << *id;
    out.ids.push_back(*id);
    zones.push_back(&zone);
  }
  return zones;
}

// The names of all zones, sorted.
std::vector<std::string_view> ResourcesOf(const std::vector<const Object::Zone*>& zones) {
  std::vector<std::string_view> names;
  for (const Object::Zone* zone : zones) {
    for (const Object::Resource& resource : zone->resources) names.push_back(resource.name);
  }
  std::ranges::sort(names);
  const auto rest = std::ranges::unique(names);
  names.erase(rest.begin(), rest.end());
  return names;
}

void ReadResources(const std::vector<const Object::Zone*>& zones, NumaResourceNames& names,
                   NumaTopology& out) {
  const std::vector<std::string_view> used = ResourcesOf(zones);
  if (used.size() > NumaTopology::kMostResources) {
    out.invalid = fmt::format("zones: {} different resources: must have at most {}", used.size(),
                              NumaTopology::kMostResources);
    return;
  }
  for (const std::string_view name : used) out.resources.push_back(names.Use(name));
  std::ranges::sort(out.resources);
  out.listed.resize(used.size());
  out.available.resize(used.size() * zones.size());
  for (std::size_t zone = 0; zone < zones.size(); ++zone) {
    for (const Object::Resource& resource : zones[zone]->resources) {
      const std::size_t at = out.Find(names.Find(resource.name));
      out.listed[at] |= std::uint64_t{1} << zone;
      // Of equal names the last one counts.
      out.available[at * zones.size() + zone] = std::max<std::int64_t>(MilliOf(resource.available), 0);
    }
  }
}

void ReadDistances(const std::vector<const Object::Zone*>& zones, NumaTopology& out) {
  // Sums of all distances of a node fit an int64.
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  out.distances.assign(zones.size() * zones.size(), NumaTopology::kUnknownDistance);
  for (std::size_t from = 0; from < zones.size(); ++from) {
    for (const Object::Cost& cost : zones[from]->costs) {
      const auto id = IdOf(cost.name);
      if (!id) continue;
      const auto to = std::ranges::find(out.ids, *id);
      if (to == out.ids.end()) continue;
      out.distances[from * zones.size() + static_cast<std::size_t>(to - out.ids.begin())] =
          std::clamp(cost.value, -kMost, kMost);
    }
  }
  out.lowest_distance.fill(static_cast<float>(NumaTopology::kUnknownDistance));
  if (zones.size() > NumaTopology::kMostCombined) return;
  for (std::size_t count = 1; count <= zones.size(); ++count) {
    float& lowest = out.lowest_distance[count - 1];
    Combinations sets(zones.size(), count);
    do {
      lowest = std::min(lowest, out.AverageDistance(sets.members(), count));
    } while (sets.Next());
  }
}

}  // namespace
}  // namespace berth::plugins
