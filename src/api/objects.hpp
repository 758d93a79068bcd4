// Kubernetes objects as plain values: the fields a scheduler needs, under the names of the API (v1.37).
//
// An absent list or map is empty here; where Kubernetes distinguishes absent from empty the member is
// optional. Objects are immutable once shared: decoders hand out std::shared_ptr<const T>, and any thread may
// read one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/quantity.hpp"

namespace berth::api {

// Sorted by key, keys unique.
class Labels {
 public:
  using Entry = std::pair<std::string, std::string>;

  Labels() = default;
  Labels(std::initializer_list<Entry> entries) {
    for (const auto& [key, value] : entries) Set(key, value);
  }
  void Set(std::string key, std::string value);
  // Null if there is no such key.
  const std::string* Find(std::string_view key) const;
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  friend bool operator==(const Labels&, const Labels&) = default;

 private:
  std::vector<Entry> entries_;
};

struct ObjectMeta {
  std::string name;
  std::string ns;  // metadata.namespace
  std::string uid;
  std::string resource_version;
  Labels labels;
  std::string creation_timestamp;  // RFC 3339 as received, empty if absent
  std::string deletion_timestamp;  // empty: not being deleted
  std::int64_t generation = 0;

  bool deleting() const { return !deletion_timestamp.empty(); }
  // "namespace/name", or "name" for cluster-scoped objects.
  std::string Key() const { return ns.empty() ? name : ns + "/" + name; }
};

using ResourceList = std::map<std::string, Quantity, std::less<>>;

// --- selection of nodes
// -------------------------------------------------------------------------------------

struct NodeSelectorRequirement {
  std::string key;
  std::string op;  // In, NotIn, Exists, DoesNotExist, Gt, Lt; anything else is a parse error of the term
  std::vector<std::string> values;
};
struct NodeSelectorTerm {
  std::vector<NodeSelectorRequirement> match_expressions;
  std::vector<NodeSelectorRequirement> match_fields;
  bool empty() const { return match_expressions.empty() && match_fields.empty(); }
};
struct NodeSelector {
  std::vector<NodeSelectorTerm> terms;  // ORed; none match nothing
};
struct PreferredSchedulingTerm {
  std::int32_t weight = 0;
  NodeSelectorTerm preference;
};
struct NodeAffinity {
  std::optional<NodeSelector> required;
  std::vector<PreferredSchedulingTerm> preferred;
};

struct Toleration {
  std::string key;
  std::string op;  // empty means Equal
  std::string value;
  std::string effect;  // empty means every effect
};
struct Taint {
  std::string key;
  std::string value;
  std::string effect;
  friend bool operator==(const Taint&, const Taint&) = default;
};

// --- pods
// ---------------------------------------------------------------------------------------------------

struct ContainerPort {
  std::int32_t container_port = 0;
  std::int32_t host_port = 0;
  std::string protocol;
  std::string host_ip;
};
struct ResourceRequirements {
  ResourceList requests;
  ResourceList limits;
};
struct Container {
  std::string name;
  std::string image;
  ResourceRequirements resources;
  std::vector<ContainerPort> ports;
  bool restart_always = false;  // restartPolicy Always: for an init container, a sidecar
};
// What the kubelet reports of a container's resources while a resize is under way.
struct ContainerStatus {
  std::string name;
  std::optional<ResourceList> allocated_resources;
  std::optional<ResourceList> resource_requests;  // status.resources.requests; set iff it is present
};
struct PodCondition {
  std::string type;
  std::string status;
  std::string reason;
  std::string message;
  std::string last_transition_time;
  std::int64_t observed_generation = 0;
};

struct PodSpec {
  std::string node_name;
  std::string scheduler_name;
  std::int32_t priority = 0;
  std::vector<std::string> scheduling_gates;
  Labels node_selector;
  std::optional<NodeAffinity> node_affinity;
  std::vector<Toleration> tolerations;
  std::vector<Container> containers;
  std::vector<Container> init_containers;
  std::optional<ResourceRequirements> resources;  // pod level
  ResourceList overhead;
  std::vector<std::string> image_volumes;  // volumes[].image.reference
  bool host_network = false;
};
struct PodStatus {
  std::string phase;
  std::string nominated_node_name;
  std::vector<PodCondition> conditions;
  std::vector<ContainerStatus> container_statuses;  // app containers
  std::vector<ContainerStatus> init_container_statuses;
  std::optional<ResourceList> allocated_resources;  // pod level
  std::optional<ResourceList> resource_requests;    // pod level, status.resources.requests
  bool has_resources = false;                       // pod level, status.resources is present
};
struct Pod {
  ObjectMeta metadata;
  PodSpec spec;
  PodStatus status;

  bool terminal() const { return status.phase == "Succeeded" || status.phase == "Failed"; }
};

// --- nodes
// --------------------------------------------------------------------------------------------------

struct ContainerImage {
  std::vector<std::string> names;
  std::int64_t size_bytes = 0;
};
struct NodeCondition {
  std::string type;
  std::string status;
};
struct Node {
  ObjectMeta metadata;
  bool unschedulable = false;
  std::vector<Taint> taints;
  ResourceList allocatable;
  ResourceList capacity;  // only stands in for an absent allocatable
  bool allocatable_given = false;
  std::vector<ContainerImage> images;
  std::vector<NodeCondition> conditions;
};

using PodPtr = std::shared_ptr<const Pod>;
using NodePtr = std::shared_ptr<const Node>;

}  // namespace berth::api
