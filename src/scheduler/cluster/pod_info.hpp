// A pod made ready for decisions: numbers instead of quantities, ids instead of strings, selectors compiled.
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
  std::vector<std::pair<ResourceId, std::int64_t>>
      scalars;  // sorted by name; a scalar asked for as 0 is listed

  std::int64_t Of(ResourceId resource) const;
  friend bool operator==(const Amounts&, const Amounts&) = default;
};

struct HostPort {
  PortId port = 0;
  AddressId address = kAnyAddress;
  friend bool operator==(const HostPort&, const HostPort&) = default;
};

// What a pod takes from the node it is on. Kept for every bound and assumed pod.
struct PodUse {
  Amounts requested;                    // NodeInfo.Requested's share
  std::int64_t non_zero_milli_cpu = 0;  // NodeInfo.NonZeroRequested's share
  std::int64_t non_zero_memory = 0;
  std::vector<HostPort> ports;
  PodLabelsPtr labels;
  PodAffinityPtr affinity;   // null for most
  bool has_volumes = false;  // of the kinds that decisions depend on
  friend bool operator==(const PodUse&, const PodUse&) = default;
};

struct CompiledRequirement {
  api::SelectorOp op = api::SelectorOp::kExists;
  LabelKeyId key;
  std::vector<LabelId> labels;  // kIn, kNotIn
  std::int64_t bound = 0;       // kGt, kLt
};
struct CompiledField {
  bool is_name = false;  // any field but metadata.name reads as empty text
  bool negated = false;
  bool value_empty = false;
  NodeNameId name;
};
struct CompiledTerm {
  bool never = false;  // empty, or with a mistake in it
  std::vector<CompiledRequirement> labels;
  std::vector<CompiledField> fields;
};
struct CompiledPreference {
  std::int64_t weight = 0;
  CompiledTerm term;
};

// spec.affinity.nodeAffinity and spec.nodeSelector.
struct NodeSelection {
  std::vector<LabelId> selector;  // every one must be there
  bool has_required = false;
  std::vector<CompiledTerm> required;  // any one must match; none match nothing
  bool has_preferred = false;
  std::vector<CompiledPreference> preferred;
  std::string preferred_error;  // in kube-scheduler's words; empty if all terms are fine
  // matchFields metadata.name In: the nodes the required terms are limited to, if each term limits.
  bool limits_names = false;
  std::vector<NodeNameId> names;
};

CompiledTerm CompileTerm(const api::NodeSelectorTerm& term, std::string_view path,
                         std::vector<std::string>* errors, SymbolTable& symbols);
std::vector<CompiledPreference> CompilePreferences(const std::vector<api::PreferredSchedulingTerm>& terms,
                                                   std::string* error, SymbolTable& symbols);

using PodUsePtr = std::shared_ptr<const PodUse>;

// What decisions depend on in a pod, compiled: pods that differ in nothing but their names share one.
// Immutable once made.
struct PodShape {
  api::PodPtr model;  // the first pod of this shape: what it stands for
  Amounts fit;        // what NodeResourcesFit's filter compares; never negative
  // What NodeResourcesFit's score adds: the sum over containers with defaults; pod-level requests are left
  // out, as upstream leaves them out.
  Amounts score;
  PodUsePtr use;
  NodeSelection selection;
  SpreadPtr spread;              // null for most
  std::vector<ImageId> images;   // one per use, normalised; init containers, containers, image volumes
  std::int64_t image_users = 0;  // how many of them there are for ImageLocality's upper bound
};
using PodShapePtr = std::shared_ptr<const PodShape>;

// Do these two differ in nothing but what no decision depends on: name, uid, versions and times, conditions,
// and the nodes they are on or nominated to?
bool SameShape(const api::Pod& a, const api::Pod& b);

// Immutable once made.
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

// For a pod that wants a place.
PodInfo PreparePod(api::PodPtr pod, SymbolTable& symbols);
// For a pod that has one; pods that take the same share the answer.
PodUsePtr UseOf(const api::Pod& pod, SymbolTable& symbols);

// What spec.containers and sidecars ask for on their node.
std::vector<HostPort> HostPortsOf(const api::Pod& pod, SymbolTable& symbols);

// "nginx" -> "nginx:latest"; names with a tag or digest stay.
std::string NormalizedImageName(std::string_view name);

}  // namespace berth::cluster
