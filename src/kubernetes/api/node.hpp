// Nodes: the fields a scheduler needs. meta.hpp describes the conventions for all objects.
#pragma once

#include "kubernetes/api/meta.hpp"

namespace berth::api {

struct ContainerImage {
  std::vector<std::string> names;
  std::int64_t size_bytes = 0;
  friend bool operator==(const ContainerImage&, const ContainerImage&) = default;
};
struct NodeCondition {
  std::string type;
  std::string status;
  friend bool operator==(const NodeCondition&, const NodeCondition&) = default;
};
struct NodeAddress {
  std::string type;  // InternalIP, ExternalIP, Hostname, InternalDNS, ExternalDNS
  std::string address;
  friend bool operator==(const NodeAddress&, const NodeAddress&) = default;
};
struct Node {
  static constexpr std::string_view kKind = "Node";
  static constexpr bool kNamespaced = false;
  ObjectMeta metadata;
  bool unschedulable = false;
  CowList<Taint> taints;
  ResourceList allocatable;
  ResourceList capacity;  // used only if allocatable is absent
  bool allocatable_given = false;
  CowList<ContainerImage> images;
  CowList<NodeCondition> conditions;
  CowList<NodeAddress> addresses;
  CowList<std::string> declared_features;  // sorted
  std::uint64_t annotations_digest = 0;    // equal for equal annotations; only changes matter
  CowPtr<std::string> text;                // the whole object, if the decoder is configured to keep it
  friend bool operator==(const Node&, const Node&) = default;
};

using NodePtr = std::shared_ptr<const Node>;

}  // namespace berth::api
