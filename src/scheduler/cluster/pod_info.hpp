// A pod prepared for scheduling: quantities are integers, strings are symbol ids, selectors are compiled.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kubernetes/api/objects.hpp"
#include "scheduler/cluster/pod_selectors.hpp"
#include "scheduler/cluster/symbol_table.hpp"

namespace berth::cluster {

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
  PodLabelsPtr labels;
  PodAffinityPtr affinity;   // null for most pods
  bool has_volumes = false;  // of a kind that affects scheduling
  friend bool operator==(const PodUse&, const PodUse&) = default;
};

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

CompiledTerm CompileTerm(const api::NodeSelectorTerm& term, std::string_view path,
                         std::vector<std::string>* errors, SymbolTable& symbols);
std::vector<CompiledPreference> CompilePreferences(const std::vector<api::PreferredSchedulingTerm>& terms,
                                                   std::string* error, SymbolTable& symbols);

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
  SpreadPtr spread;              // null for most pods
  std::vector<ImageId> images;   // one per use, normalized: init containers, containers, image volumes
  std::int64_t image_users = 0;  // number of image uses, for ImageLocality's upper bound
};
using PodShapePtr = std::shared_ptr<const PodShape>;

// Whether two pods have the same shape. Ignored are name, uid, versions and times, conditions, and the node
// to which a pod is bound or nominated.
bool SameShape(const api::Pod& a, const api::Pod& b);

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
  const SpreadPtr& spread() const { return shape->spread; }
  const std::vector<ImageId>& images() const { return shape->images; }
  std::int64_t image_users() const { return shape->image_users; }
};

// For a pod that waits to be scheduled.
PodInfo PreparePod(api::PodPtr pod, SymbolTable& symbols);
// For a bound pod. Pods with equal use share the result.
PodUsePtr UseOf(const api::Pod& pod, SymbolTable& symbols);

// Host ports of spec.containers and sidecars.
std::vector<HostPort> HostPortsOf(const api::Pod& pod, SymbolTable& symbols);

// "nginx" -> "nginx:latest"; names with a tag or digest are unchanged.
std::string NormalizedImageName(std::string_view name);

}  // namespace berth::cluster
