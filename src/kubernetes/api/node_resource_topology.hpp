// NodeResourceTopologies (topology.node.k8s.io/v1alpha2): the resources of a node by NUMA zone, as an agent
// on the node publishes them. meta.hpp describes the conventions for all objects.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kubernetes/api/meta.hpp"
#include "kubernetes/api/quantity.hpp"

namespace berth::api {

// The object has the name of its node. Capacity, allocatable amounts, parents and attributes of zones are not
// read.
struct NodeResourceTopology {
  static constexpr std::string_view kKind = "NodeResourceTopology";
  static constexpr bool kNamespaced = false;
  struct Attribute {
    std::string name, value;
    friend bool operator==(const Attribute&, const Attribute&) = default;
  };
  // The distance to another zone.
  struct Cost {
    std::string name;  // of the zone
    std::int64_t value = 0;
    friend bool operator==(const Cost&, const Cost&) = default;
  };
  struct Resource {
    std::string name;
    Quantity available;  // for new pods
    friend bool operator==(const Resource&, const Resource&) = default;
  };
  struct Zone {
    std::string name;  // of NUMA zones: "node-0"
    std::string type;  // of NUMA zones: "Node"
    std::vector<Cost> costs;
    std::vector<Resource> resources;
    friend bool operator==(const Zone&, const Zone&) = default;
  };
  ObjectMeta metadata;
  std::vector<std::string> topology_policies;  // deprecated in favour of attributes
  std::vector<Attribute> attributes;
  std::vector<Zone> zones;
  friend bool operator==(const NodeResourceTopology&, const NodeResourceTopology&) = default;
};

}  // namespace berth::api
