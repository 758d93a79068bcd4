// Pods: the fields a scheduler needs, with the API's names (v1.37). meta.hpp describes the conventions for
// all objects.
#pragma once

#include "kubernetes/api/meta.hpp"

namespace berth::api {

struct ContainerPort {
  std::int32_t container_port = 0;
  std::int32_t host_port = 0;
  std::string protocol;
  std::string host_ip;
  friend bool operator==(const ContainerPort&, const ContainerPort&) = default;
};
struct ResourceRequirements {
  ResourceList requests;
  ResourceList limits;
  friend bool operator==(const ResourceRequirements&, const ResourceRequirements&) = default;
};
struct Container {
  std::string name;
  std::string image;
  ResourceRequirements resources;
  std::vector<ContainerPort> ports;
  bool restart_always = false;  // restartPolicy Always: for an init container, a sidecar
  friend bool operator==(const Container&, const Container&) = default;
};

// A volume that scheduling depends on; volumes of other kinds (emptyDir, configMap, ...) are not kept.
struct Volume {
  enum class Source : std::uint8_t {
    kPersistentVolumeClaim,  // id: claimName
    kEphemeral,              // id: empty; the claim is "<pod>-<volume>"
    kCsi,                    // id: driver
    kGcePersistentDisk,      // id: pdName
    kAwsElasticBlockStore,   // id: volumeID
    kAzureDisk,              // id: diskURI
    kCinder,                 // id: volumeID
    kPortworx,               // id: volumeID
    kAzureFile,              // id: shareName
    kVsphere,                // id: volumePath
    kIscsi,                  // id: iqn
    kRbd,                    // id: image
  };
  struct Rbd {
    std::string pool;
    std::vector<std::string> monitors;
    friend bool operator==(const Rbd&, const Rbd&) = default;
  };

  std::string name;
  Source source = Source::kEphemeral;
  bool read_only = false;
  std::string id;
  CowPtr<Rbd> rbd;                 // kRbd
  CowPtr<std::string> azure_kind;  // kAzureDisk, if set: Shared, Dedicated, Managed
  friend bool operator==(const Volume&, const Volume&) = default;
};

struct PodAffinityTerm {
  CowPtr<LabelSelector> label_selector;
  std::vector<std::string> namespaces;
  CowPtr<LabelSelector> namespace_selector;
  std::string topology_key;
  CowList<std::string> match_label_keys;
  CowList<std::string> mismatch_label_keys;
  friend bool operator==(const PodAffinityTerm&, const PodAffinityTerm&) = default;
};
struct WeightedPodAffinityTerm {
  std::int32_t weight = 0;
  PodAffinityTerm term;
  friend bool operator==(const WeightedPodAffinityTerm&, const WeightedPodAffinityTerm&) = default;
};
// podAffinity or podAntiAffinity.
struct PodAffinity {
  std::vector<PodAffinityTerm> required;
  std::vector<WeightedPodAffinityTerm> preferred;
  friend bool operator==(const PodAffinity&, const PodAffinity&) = default;
};

struct TopologySpreadConstraint {
  std::int32_t max_skew = 0;
  std::string topology_key;
  std::string when_unsatisfiable;  // DoNotSchedule or ScheduleAnyway
  CowPtr<LabelSelector> label_selector;
  std::optional<std::int32_t> min_domains;
  std::string node_affinity_policy;  // Honor, Ignore; empty means Honor
  std::string node_taints_policy;    // Honor, Ignore; empty means Ignore
  CowList<std::string> match_label_keys;
  friend bool operator==(const TopologySpreadConstraint&, const TopologySpreadConstraint&) = default;
};

struct PodResourceClaim {
  std::string name;
  std::optional<std::string> resource_claim_name;
  std::optional<std::string> resource_claim_template_name;
  friend bool operator==(const PodResourceClaim&, const PodResourceClaim&) = default;
};
struct PodResourceClaimStatus {
  std::string name;
  std::optional<std::string> resource_claim_name;  // none: no claim was needed
  friend bool operator==(const PodResourceClaimStatus&, const PodResourceClaimStatus&) = default;
};
struct ExtendedResourceClaimStatus {
  struct RequestMapping {
    std::string container_name;
    std::string resource_name;
    std::string request_name;
    friend bool operator==(const RequestMapping&, const RequestMapping&) = default;
  };
  std::string resource_claim_name;
  std::vector<RequestMapping> request_mappings;
  friend bool operator==(const ExtendedResourceClaimStatus&, const ExtendedResourceClaimStatus&) = default;
};

// The kubelet's report on a container's resources during an in-place resize.
struct ContainerStatus {
  std::string name;
  CowPtr<ResourceList> allocated_resources;
  CowPtr<ResourceList> resource_requests;  // status.resources.requests; set iff it is present
  friend bool operator==(const ContainerStatus&, const ContainerStatus&) = default;
};
struct PodCondition {
  std::string type;
  std::string status;
  std::string reason;
  std::string message;
  std::string last_transition_time;
  std::int64_t observed_generation = 0;
  friend bool operator==(const PodCondition&, const PodCondition&) = default;
};

struct PodSpec {
  Text node_name;
  Text scheduler_name;
  Text priority_class_name;
  std::int32_t priority = 0;
  CowList<std::string> scheduling_gates;
  Labels node_selector;
  CowPtr<NodeAffinity> node_affinity;
  CowList<Toleration> tolerations;
  CowList<Container> containers;
  CowList<Container> init_containers;
  CowPtr<ResourceRequirements> resources;  // pod level
  ResourceList overhead;
  CowList<std::string> image_volumes;  // volumes[].image.reference
  CowList<Volume> volumes;
  CowPtr<PodAffinity> pod_affinity;
  CowPtr<PodAffinity> pod_anti_affinity;
  CowList<TopologySpreadConstraint> topology_spread_constraints;
  CowList<PodResourceClaim> resource_claims;
  CowPtr<std::string> pod_group;  // schedulingGroup.podGroupName
  bool host_network = false;
  bool never_preempts = false;  // preemptionPolicy: Never
  bool local_storage = false;   // has a volume of kind emptyDir or hostPath; no decision depends on it
  std::optional<bool> host_users;
  // Fields that require features a node must declare:
  bool restarts_all_containers = false;  // a container's restartPolicyRules contain RestartAllContainers
  bool bind_mount_options = false;       // a container's volumeMounts have bindMountOptions
  friend bool operator==(const PodSpec&, const PodSpec&) = default;
};
struct PodStatus {
  Text phase;
  Text nominated_node_name;
  // For a pod with a node, only the conditions that plugins read are complete (TrimConditions in
  // decode_common.hpp); the others have only type and status.
  CowList<PodCondition> conditions;
  std::int64_t start_time = 0;      // Unix seconds; 0: not started
  std::int64_t scheduled_time = 0;  // Unix seconds; from PodScheduled of a pod with a node; 0: unknown
  CowList<PodResourceClaimStatus> resource_claim_statuses;
  CowPtr<ExtendedResourceClaimStatus> extended_resource_claim;
  CowList<ContainerStatus> container_statuses;  // app containers
  CowList<ContainerStatus> init_container_statuses;
  CowPtr<ResourceList> allocated_resources;  // pod level
  CowPtr<ResourceList> resource_requests;    // pod level, status.resources.requests
  bool has_resources = false;                // pod level, status.resources is present
  friend bool operator==(const PodStatus&, const PodStatus&) = default;
};
struct Pod {
  static constexpr std::string_view kKind = "Pod";
  static constexpr bool kNamespaced = true;
  ObjectMeta metadata;
  PodSpec spec;
  PodStatus status;
  CowPtr<std::string> text;  // the whole object, if the decoder is configured to keep it
  bool terminal() const { return status.phase == "Succeeded" || status.phase == "Failed"; }
  friend bool operator==(const Pod&, const Pod&) = default;
};

using PodPtr = std::shared_ptr<const Pod>;

// Whether the pods' specs make the same demands on a node; the assigned node is ignored.
bool SameDemands(const PodSpec& a, const PodSpec& b);
// Whether the kubelet reports the same resources and claims; the rest of the status is ignored.
bool SameResources(const PodStatus& a, const PodStatus& b);

}  // namespace berth::api
