// A pod prepared for scheduling: quantities are integers, strings are symbol ids, selectors are compiled.
// Created by scheduler/cluster/prepare_pod.hpp.
#pragma once

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
};

// The resources that a pod uses on its node. Stored for every bound and assumed pod.
struct PodUse {
  Amounts requested;                    // its part of NodeInfo.Requested
  std::int64_t non_zero_milli_cpu = 0;  // its part of NodeInfo.NonZeroRequested
  std::int64_t non_zero_memory = 0;
  std::vector<HostPort> ports;
  std::shared_ptr<const PodLabels> labels;
  std::shared_ptr<const PodAffinityTerms> affinity;  // null for most pods
  bool has_volumes = false;                          // of a kind that affects scheduling
  friend bool operator==(const PodUse&, const PodUse&) = default;
};

// A matchExpressions entry of a node selector term.
struct CompiledRequirement {
  api::SelectorOp op = api::SelectorOp::kExists;
  LabelKeyId key;
  std::vector<LabelId> labels;  // kIn, kNotIn
  std::int64_t bound = 0;       // kGt, kLt
};
struct CompiledField {
  bool is_name = false;  // metadata.name; any other field reads as an empty string
  bool negated = false;
  bool value_empty = false;
  NodeNameId name;
};
struct CompiledTerm {
  bool never = false;  // empty or invalid: matches no node
  std::vector<CompiledRequirement> labels;
  std::vector<CompiledField> fields;
};
struct CompiledPreference {
  std::int64_t weight = 0;
  CompiledTerm term;
};

// spec.affinity.nodeAffinity and spec.nodeSelector.
struct NodeSelection {
  std::vector<LabelId> selector;  // all must be present
  bool has_required = false;
  std::vector<CompiledTerm> required;  // one of them must match; an empty list matches no node
  bool has_preferred = false;
  std::vector<CompiledPreference> preferred;
  std::string preferred_error;  // kube-scheduler's text; empty: all terms are valid
  // matchFields metadata.name In: the only nodes that the required terms allow, if every term has such a
  // limit.
  bool limits_names = false;
  std::vector<NodeNameId> names;
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
  NodeSelection selection;
  std::shared_ptr<const SpreadConstraints> spread;  // null for most pods
  std::vector<ImageId> images;   // one per use, normalized: init containers, containers, image volumes
  std::int64_t image_users = 0;  // number of image uses, for ImageLocality's upper bound
};
using PodShapePtr = std::shared_ptr<const PodShape>;

// Immutable after construction.
struct PodInfo {
  api::PodPtr pod;
  std::string key;       // namespace/name
  NodeNameId node_name;  // spec.nodeName
  NodeNameId nominated;  // status.nominatedNodeName
  PodShapePtr shape;

  std::int32_t priority() const { return pod->spec.priority; }
  const Amounts& fit() const { return shape->fit; }
  const Amounts& score() const { return shape->score; }
  const PodUse& use() const { return *shape->use; }
  const NodeSelection& selection() const { return shape->selection; }
  const std::shared_ptr<const SpreadConstraints>& spread() const { return shape->spread; }
  const std::vector<ImageId>& images() const { return shape->images; }
  std::int64_t image_users() const { return shape->image_users; }
};

}  // namespace berth::cluster
