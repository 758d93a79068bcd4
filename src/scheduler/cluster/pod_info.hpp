// A pod prepared for scheduling: quantities are integers, strings are symbol ids, selectors are compiled.
// Created by scheduler/cluster/prepare_pod.hpp.
#pragma once

#include <boost/container_hash/hash.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kubernetes/api/pod.hpp"
#include "scheduler/cluster/ids.hpp"

namespace berth::cluster {

// scheduler/cluster/pod_selectors.hpp
struct PodLabels;
struct PodAffinityTerms;
struct SpreadConstraints;
struct NodeSelection;  // scheduler/cluster/node_selection.hpp

// Milli-cores, bytes, and counts of scalar resources.
struct Amounts {
  std::int64_t milli_cpu = 0;
  std::int64_t memory = 0;
  std::int64_t ephemeral_storage = 0;
  // Sorted by name; a scalar with a request of 0 is listed.
  std::vector<std::pair<ResourceId, std::int64_t>> scalars;

  std::int64_t Of(ResourceId resource) const;
  friend bool operator==(const Amounts&, const Amounts&) = default;
};

// A port that a container takes on its node.
struct HostPort {
  PortId port = 0;
  AddressId address = kAnyAddress;
  friend bool operator==(const HostPort&, const HostPort&) = default;
  friend auto operator<=>(const HostPort&, const HostPort&) = default;
  friend std::size_t hash_value(const HostPort& port) {
    return boost::hash<std::pair<PortId, AddressId>>()({port.port, port.address});
  }
};

// The resources that a pod uses on its node. Stored for every bound and assumed pod.
struct PodUse {
  Amounts requested;                    // its part of NodeInfo.Requested
  std::int64_t non_zero_milli_cpu = 0;  // its part of NodeInfo.NonZeroRequested
  std::int64_t non_zero_memory = 0;
  std::vector<HostPort> ports;  // ascending
  std::shared_ptr<const PodLabels> labels;
  std::shared_ptr<const PodAffinityTerms> affinity;  // null for most pods
  bool has_volumes = false;                          // of a kind that affects scheduling
  SymbolLease symbols;                               // of requested and ports
  friend bool operator==(const PodUse&, const PodUse&) = default;
};

using PodUsePtr = std::shared_ptr<const PodUse>;

// Everything in a pod that scheduling depends on, compiled. Pods that differ only in their names share one
// shape. Immutable after construction.
struct PodShape {
  api::PodPtr model;  // the first pod of this shape
  Amounts fit;        // compared by the filter of NodeResourcesFit; never negative
  // Added by the score of NodeResourcesFit: the sum over containers, with defaults for missing requests.
  // Pod-level requests are not included, as in kube-scheduler.
  Amounts score;
  PodUsePtr use;
  std::shared_ptr<const NodeSelection> selection;   // never null
  std::shared_ptr<const SpreadConstraints> spread;  // null for most pods
  std::vector<ImageId> images;   // one per use, normalized: init containers, containers, image volumes
  std::int64_t image_users = 0;  // number of image uses, for ImageLocality's upper bound
  SymbolLease symbols;           // of fit, score, selection and images
};
using PodShapePtr = std::shared_ptr<const PodShape>;

// Immutable after construction.
struct PodInfo {
  api::PodPtr pod;
  std::string key;       // namespace/name
  NodeNameId node_name;  // spec.nodeName; permanent, because pods with a node are not queued
  NodeNameId nominated;  // status.nominatedNodeName; permanent: only schedulers and administrators write it
  PodShapePtr shape;

  std::int32_t priority() const { return pod->spec.priority; }
  const Amounts& fit() const { return shape->fit; }
  const Amounts& score() const { return shape->score; }
  const PodUse& use() const { return *shape->use; }
  const NodeSelection& selection() const { return *shape->selection; }
  const std::shared_ptr<const SpreadConstraints>& spread() const { return shape->spread; }
  const std::vector<ImageId>& images() const { return shape->images; }
  std::int64_t image_users() const { return shape->image_users; }
};

}  // namespace berth::cluster
