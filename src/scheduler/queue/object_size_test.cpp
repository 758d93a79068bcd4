#include "scheduler/queue/object_size.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kubernetes/api/objects.hpp"
#include "testing/builders.hpp"

namespace berth::queue {
namespace {

using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::NodeBuilder;
using berth::testing::PodBuilder;
using framework::EventResource;

constexpr std::size_t kMany = 1000;
const std::string kLongText(10'000, 'x');

ObjectSize SizeOfNew(EventResource resource, std::shared_ptr<const void> object) {
  return SizeOfObjects({resource, framework::kAdd, ""}, {nullptr, std::move(object)});
}

// An object of the kind T with a part that `enlarge` has made long.
template <class T>
std::shared_ptr<const void> Enlarged(void (*enlarge)(T& object)) {
  auto object = std::make_shared<T>();
  enlarge(*object);
  return object;
}

std::vector<std::string> ManyTexts() { return std::vector<std::string>(kMany); }

template <class Map>
void AddMany(Map& map) {
  for (std::size_t i = 0; i < kMany; ++i) map.try_emplace("example.com/" + std::to_string(i));
}
void AddMany(api::ResourceList& amounts) {
  for (std::size_t i = 0; i < kMany; ++i)
    amounts.try_emplace("example.com/" + std::to_string(i), api::Quantity());
}
void AddMany(api::Labels& labels) {
  for (std::size_t i = 0; i < kMany; ++i) labels.Set("key-" + std::to_string(i), "v");
}

api::NodeSelector ManyTerms() { return {std::vector<api::NodeSelectorTerm>(kMany)}; }

TEST(ObjectSizeTest, OrdinaryObjectsCountAsOneEvaluation) {
  PodBuilder pod = MakePod().Cpu("1").Memory("1Gi").OnNode("n");
  NodeBuilder node = MakeNode();
  for (int i = 0; i < 20; ++i) {
    pod.Label("label-" + std::to_string(i), "value");
    node.Label("label-" + std::to_string(i), "value");
  }
  for (int i = 0; i < 50; ++i) node.Image(std::string(150, 'a') + std::to_string(i), 1);
  EXPECT_EQ(ExtraEvaluations(SizeOfPod(*pod.Share())), 0U);
  EXPECT_EQ(ExtraEvaluations(SizeOfObjects({EventResource::kNode, framework::kUpdateNodeLabel, ""},
                                           {node.Share(), node.Share()})),
            0U);
  EXPECT_EQ(ExtraEvaluations(SizeOfObjects({EventResource::kAny, framework::kAllActions, ""}, {})), 0U);
}

TEST(ObjectSizeTest, EveryListOfAPodCounts) {
  const struct {
    const char* what;
    void (*enlarge)(api::Pod& pod);
  } rows[] = {
      {"labels", [](api::Pod& pod) { AddMany(pod.metadata.labels); }},
      {"annotations", [](api::Pod& pod) { AddMany(pod.metadata.annotations.emplace()); }},
      {"scheduling gates", [](api::Pod& pod) { pod.spec.scheduling_gates = ManyTexts(); }},
      {"node selector", [](api::Pod& pod) { AddMany(pod.spec.node_selector); }},
      {"node selector terms", [](api::Pod& pod) { pod.spec.node_affinity.emplace().required = ManyTerms(); }},
      {"preferred node selector terms",
       [](api::Pod& pod) { pod.spec.node_affinity.emplace().preferred.resize(kMany); }},
      {"expressions of a node selector term",
       [](api::Pod& pod) {
         pod.spec.node_affinity.emplace().preferred.resize(1);
         pod.spec.node_affinity->preferred[0].preference.match_expressions.resize(kMany);
       }},
      {"fields of a node selector term",
       [](api::Pod& pod) {
         pod.spec.node_affinity.emplace().required.emplace().terms.resize(1);
         pod.spec.node_affinity->required->terms[0].match_fields.resize(kMany);
       }},
      {"values of a node selector term",
       [](api::Pod& pod) {
         pod.spec.node_affinity.emplace().required.emplace().terms.resize(1);
         pod.spec.node_affinity->required->terms[0].match_expressions = {{"key", "In", ManyTexts()}};
       }},
      {"tolerations", [](api::Pod& pod) { pod.spec.tolerations = std::vector<api::Toleration>(kMany); }},
      {"containers", [](api::Pod& pod) { pod.spec.containers = std::vector<api::Container>(kMany); }},
      {"init containers",
       [](api::Pod& pod) { pod.spec.init_containers = std::vector<api::Container>(kMany); }},
      {"ports",
       [](api::Pod& pod) {
         api::Container container;
         container.ports.resize(kMany);
         pod.spec.init_containers = {container};
       }},
      {"requests",
       [](api::Pod& pod) {
         api::Container container;
         AddMany(container.resources.requests);
         pod.spec.containers = {container};
       }},
      {"limits of the pod", [](api::Pod& pod) { AddMany(pod.spec.resources.emplace().limits); }},
      {"overhead", [](api::Pod& pod) { AddMany(pod.spec.overhead); }},
      {"image volumes", [](api::Pod& pod) { pod.spec.image_volumes = ManyTexts(); }},
      {"volumes", [](api::Pod& pod) { pod.spec.volumes = std::vector<api::Volume>(kMany); }},
      {"monitors of a volume",
       [](api::Pod& pod) {
         api::Volume volume;
         volume.rbd.emplace().monitors = ManyTexts();
         pod.spec.volumes = {volume};
       }},
      {"affinity terms", [](api::Pod& pod) { pod.spec.pod_affinity.emplace().required.resize(kMany); }},
      {"anti-affinity terms",
       [](api::Pod& pod) { pod.spec.pod_anti_affinity.emplace().required.resize(kMany); }},
      {"preferred affinity terms",
       [](api::Pod& pod) { pod.spec.pod_affinity.emplace().preferred.resize(kMany); }},
      {"labels of an affinity term",
       [](api::Pod& pod) {
         api::PodAffinityTerm term;
         AddMany(term.label_selector.emplace().match_labels);
         pod.spec.pod_affinity.emplace().required = {term};
       }},
      {"values of an affinity term",
       [](api::Pod& pod) {
         api::PodAffinityTerm term;
         term.label_selector.emplace().match_expressions = {{"key", "In", ManyTexts()}};
         pod.spec.pod_affinity.emplace().preferred = {{1, term}};
       }},
      {"namespaces of an affinity term",
       [](api::Pod& pod) {
         pod.spec.pod_affinity.emplace().required.resize(1);
         pod.spec.pod_affinity->required[0].namespaces = ManyTexts();
       }},
      {"namespace selector of an affinity term",
       [](api::Pod& pod) {
         pod.spec.pod_affinity.emplace().required.resize(1);
         pod.spec.pod_affinity->required[0].namespace_selector.emplace().match_expressions.resize(kMany);
       }},
      {"label keys of an affinity term",
       [](api::Pod& pod) {
         pod.spec.pod_affinity.emplace().required.resize(1);
         pod.spec.pod_affinity->required[0].match_label_keys = ManyTexts();
       }},
      {"mismatched label keys of an affinity term",
       [](api::Pod& pod) {
         pod.spec.pod_affinity.emplace().required.resize(1);
         pod.spec.pod_affinity->required[0].mismatch_label_keys = ManyTexts();
       }},
      {"spread constraints",
       [](api::Pod& pod) {
         pod.spec.topology_spread_constraints = std::vector<api::TopologySpreadConstraint>(kMany);
       }},
      {"labels of a spread constraint",
       [](api::Pod& pod) {
         api::TopologySpreadConstraint constraint;
         AddMany(constraint.label_selector.emplace().match_labels);
         pod.spec.topology_spread_constraints = {constraint};
       }},
      {"label keys of a spread constraint",
       [](api::Pod& pod) {
         api::TopologySpreadConstraint constraint;
         constraint.match_label_keys = ManyTexts();
         pod.spec.topology_spread_constraints = {constraint};
       }},
      {"claims", [](api::Pod& pod) { pod.spec.resource_claims = std::vector<api::PodResourceClaim>(kMany); }},
      {"statuses of claims",
       [](api::Pod& pod) {
         pod.status.resource_claim_statuses = std::vector<api::PodResourceClaimStatus>(kMany);
       }},
      {"requests for extended resources",
       [](api::Pod& pod) { pod.status.extended_resource_claim.emplace().request_mappings.resize(kMany); }},
      {"statuses of containers",
       [](api::Pod& pod) { pod.status.container_statuses = std::vector<api::ContainerStatus>(kMany); }},
      {"statuses of init containers",
       [](api::Pod& pod) { pod.status.init_container_statuses = std::vector<api::ContainerStatus>(kMany); }},
      {"allocated resources of a container",
       [](api::Pod& pod) {
         api::ContainerStatus status;
         AddMany(status.allocated_resources.emplace());
         pod.status.container_statuses = {status};
       }},
      {"resource requests of a container's status",
       [](api::Pod& pod) {
         api::ContainerStatus status;
         AddMany(status.resource_requests.emplace());
         pod.status.init_container_statuses = {status};
       }},
      {"allocated resources", [](api::Pod& pod) { AddMany(pod.status.allocated_resources.emplace()); }},
      {"resource requests of the status",
       [](api::Pod& pod) { AddMany(pod.status.resource_requests.emplace()); }},
  };
  const ObjectSize plain = SizeOfPod(api::Pod());
  for (const auto& row : rows) {
    api::Pod pod;
    row.enlarge(pod);
    const ObjectSize size = SizeOfPod(pod);
    EXPECT_GE(size.items, plain.items + kMany) << row.what;
    EXPECT_GE(size.bytes, plain.bytes + kMany * sizeof(std::string)) << row.what;
    EXPECT_GE(ExtraEvaluations(size), 7U) << row.what;
  }
}

TEST(ObjectSizeTest, EveryListOfOtherObjectsCountsAndUnreadOnesOnlyTheirMemory) {
  using api::CSINode, api::DeviceClass, api::ElasticQuota, api::Node, api::NodeResourceTopology,
      api::PodGroup, api::ResourceClaim, api::ResourceSlice, api::StorageClass;
  const struct {
    const char* what;
    EventResource resource;
    std::shared_ptr<const void> object;
    bool read_by_hints = true;
  } rows[] = {
      {"taints of a node", EventResource::kNode,
       Enlarged<Node>([](Node& node) { node.taints = std::vector<api::Taint>(kMany); })},
      {"allocatable amounts", EventResource::kNode,
       Enlarged<Node>([](Node& node) { AddMany(node.allocatable); })},
      {"declared features", EventResource::kNode,
       Enlarged<Node>([](Node& node) { node.declared_features = ManyTexts(); })},
      {"capacity of a node", EventResource::kNode, Enlarged<Node>([](Node& node) { AddMany(node.capacity); }),
       false},
      {"images", EventResource::kNode,
       Enlarged<Node>([](Node& node) { node.images = std::vector<api::ContainerImage>(kMany); }), false},
      {"names of an image", EventResource::kNode,
       Enlarged<Node>([](Node& node) { node.images = {{ManyTexts(), 1}}; }), false},
      {"conditions of a node", EventResource::kNode,
       Enlarged<Node>([](Node& node) { node.conditions = std::vector<api::NodeCondition>(kMany); }), false},
      {"addresses", EventResource::kNode,
       Enlarged<Node>([](Node& node) { node.addresses = std::vector<api::NodeAddress>(kMany); }), false},
      {"policies of a topology", EventResource::kNodeResourceTopology,
       Enlarged<NodeResourceTopology>([](auto& topology) { topology.topology_policies = ManyTexts(); })},
      {"attributes of a topology", EventResource::kNodeResourceTopology,
       Enlarged<NodeResourceTopology>([](auto& topology) { topology.attributes.resize(kMany); })},
      {"zones", EventResource::kNodeResourceTopology,
       Enlarged<NodeResourceTopology>([](auto& topology) { topology.zones.resize(kMany); })},
      {"costs of a zone", EventResource::kNodeResourceTopology,
       Enlarged<NodeResourceTopology>([](auto& topology) {
         topology.zones.resize(1);
         topology.zones[0].costs.resize(kMany);
       })},
      {"resources of a zone", EventResource::kNodeResourceTopology,
       Enlarged<NodeResourceTopology>([](auto& topology) {
         topology.zones.resize(1);
         topology.zones[0].resources.resize(kMany);
       })},
      {"access modes of a volume", EventResource::kPersistentVolume,
       Enlarged<api::PersistentVolume>([](auto& volume) { volume.access_modes = ManyTexts(); })},
      {"node affinity of a volume", EventResource::kPersistentVolume,
       Enlarged<api::PersistentVolume>([](auto& volume) { volume.node_affinity = ManyTerms(); })},
      {"access modes of a claim", EventResource::kPersistentVolumeClaim,
       Enlarged<api::PersistentVolumeClaim>([](auto& claim) { claim.access_modes = ManyTexts(); })},
      {"selector of a claim", EventResource::kPersistentVolumeClaim,
       Enlarged<api::PersistentVolumeClaim>(
           [](auto& claim) { claim.selector.emplace().match_expressions.resize(kMany); })},
      {"topologies of a storage class", EventResource::kStorageClass,
       Enlarged<StorageClass>([](auto& one) { one.allowed_topologies.resize(kMany); })},
      {"values of a topology", EventResource::kStorageClass,
       Enlarged<StorageClass>([](auto& one) { one.allowed_topologies = {{{"key", ManyTexts()}}}; })},
      {"drivers", EventResource::kCSINode, Enlarged<CSINode>([](auto& node) { node.drivers.resize(kMany); })},
      {"topology of a storage capacity", EventResource::kCSIStorageCapacity,
       Enlarged<api::CSIStorageCapacity>(
           [](auto& one) { AddMany(one.node_topology.emplace().match_labels); })},
      {"node selector of a slice", EventResource::kResourceSlice,
       Enlarged<ResourceSlice>([](auto& slice) { slice.node_selector = ManyTerms(); })},
      {"devices", EventResource::kResourceSlice,
       Enlarged<ResourceSlice>([](auto& slice) { slice.devices.resize(kMany); }), false},
      {"shared counters", EventResource::kResourceSlice,
       Enlarged<ResourceSlice>([](auto& slice) { slice.shared_counters.resize(kMany); }), false},
      {"counters of a set", EventResource::kResourceSlice,
       Enlarged<ResourceSlice>([](auto& slice) { AddMany(slice.shared_counters.emplace_back().counters); }),
       false},
      {"attributes of a device", EventResource::kResourceSlice,
       Enlarged<ResourceSlice>([](auto& slice) { AddMany(slice.devices.emplace_back().attributes); }), false},
      {"capacity of a device", EventResource::kResourceSlice,
       Enlarged<ResourceSlice>([](auto& slice) { AddMany(slice.devices.emplace_back().capacity); }), false},
      {"valid amounts of a capacity", EventResource::kResourceSlice, Enlarged<ResourceSlice>([](auto& slice) {
         api::DeviceCapacity& capacity = slice.devices.emplace_back().capacity["memory"];
         capacity.request_policy.emplace().valid_values.resize(kMany);
       }),
       false},
      {"consumed counters of a device", EventResource::kResourceSlice,
       Enlarged<ResourceSlice>(
           [](auto& slice) { slice.devices.emplace_back().consumes_counters.resize(kMany); }),
       false},
      {"amounts of consumed counters", EventResource::kResourceSlice,
       Enlarged<ResourceSlice>([](auto& slice) {
         AddMany(slice.devices.emplace_back().consumes_counters.emplace_back().counters);
       }),
       false},
      {"node selector of a device", EventResource::kResourceSlice,
       Enlarged<ResourceSlice>([](auto& slice) { slice.devices.emplace_back().node_selector = ManyTerms(); }),
       false},
      {"taints of a device", EventResource::kResourceSlice,
       Enlarged<ResourceSlice>([](auto& slice) { slice.devices.emplace_back().taints.resize(kMany); }),
       false},
      {"binding conditions of a device", EventResource::kResourceSlice,
       Enlarged<ResourceSlice>(
           [](auto& slice) { slice.devices.emplace_back().binding_conditions = ManyTexts(); }),
       false},
      {"binding failure conditions of a device", EventResource::kResourceSlice,
       Enlarged<ResourceSlice>(
           [](auto& slice) { slice.devices.emplace_back().binding_failure_conditions = ManyTexts(); }),
       false},
      {"selectors of a device class", EventResource::kDeviceClass,
       Enlarged<DeviceClass>([](auto& one) { one.selectors.resize(kMany); }), false},
      {"configuration of a device class", EventResource::kDeviceClass,
       Enlarged<DeviceClass>([](auto& one) { one.config.resize(kMany); }), false},
      {"requests of a configuration", EventResource::kDeviceClass,
       Enlarged<DeviceClass>([](auto& one) { one.config = {{ManyTexts(), ""}}; }), false},
      {"finalizers of a claim", EventResource::kResourceClaim,
       Enlarged<ResourceClaim>([](auto& claim) { claim.finalizers = ManyTexts(); }), false},
      {"requests of a claim", EventResource::kResourceClaim,
       Enlarged<ResourceClaim>([](auto& claim) { claim.requests.resize(kMany); }), false},
      {"alternatives of a request", EventResource::kResourceClaim, Enlarged<ResourceClaim>([](auto& claim) {
         claim.requests.emplace_back().first_available.resize(kMany);
       }),
       false},
      {"selectors of an alternative", EventResource::kResourceClaim, Enlarged<ResourceClaim>([](auto& claim) {
         claim.requests.emplace_back().first_available.emplace_back().devices.selectors.resize(kMany);
       }),
       false},
      {"tolerations of a request", EventResource::kResourceClaim, Enlarged<ResourceClaim>([](auto& claim) {
         claim.requests.emplace_back().exactly.emplace().tolerations.resize(kMany);
       }),
       false},
      {"capacity of a request", EventResource::kResourceClaim, Enlarged<ResourceClaim>([](auto& claim) {
         AddMany(claim.requests.emplace_back().exactly.emplace().capacity.emplace());
       }),
       false},
      {"constraints of a claim", EventResource::kResourceClaim,
       Enlarged<ResourceClaim>([](auto& claim) { claim.constraints.resize(kMany); }), false},
      {"requests of a constraint", EventResource::kResourceClaim,
       Enlarged<ResourceClaim>([](auto& claim) { claim.constraints.emplace_back().requests = ManyTexts(); }),
       false},
      {"configuration of a claim", EventResource::kResourceClaim,
       Enlarged<ResourceClaim>([](auto& claim) { claim.config.resize(kMany); }), false},
      {"allocated devices", EventResource::kResourceClaim,
       Enlarged<ResourceClaim>([](auto& claim) { claim.allocation.emplace().devices.resize(kMany); })},
      {"tolerations of an allocated device", EventResource::kResourceClaim,
       Enlarged<ResourceClaim>(
           [](auto& claim) { claim.allocation.emplace().devices.emplace_back().tolerations.resize(kMany); })},
      {"binding conditions of an allocated device", EventResource::kResourceClaim,
       Enlarged<ResourceClaim>([](auto& claim) {
         claim.allocation.emplace().devices.emplace_back().binding_conditions = ManyTexts();
       })},
      {"binding failure conditions of an allocated device", EventResource::kResourceClaim,
       Enlarged<ResourceClaim>([](auto& claim) {
         claim.allocation.emplace().devices.emplace_back().binding_failure_conditions = ManyTexts();
       })},
      {"consumed capacity of an allocated device", EventResource::kResourceClaim,
       Enlarged<ResourceClaim>([](auto& claim) {
         AddMany(claim.allocation.emplace().devices.emplace_back().consumed_capacity);
       })},
      {"configuration of an allocation", EventResource::kResourceClaim,
       Enlarged<ResourceClaim>([](auto& claim) { claim.allocation.emplace().config.resize(kMany); })},
      {"node selector of an allocation", EventResource::kResourceClaim,
       Enlarged<ResourceClaim>([](auto& claim) { claim.allocation.emplace().node_selector = ManyTerms(); })},
      {"consumers of a claim", EventResource::kResourceClaim,
       Enlarged<ResourceClaim>([](auto& claim) { claim.reserved_for.resize(kMany); })},
      {"devices of a claim's status", EventResource::kResourceClaim,
       Enlarged<ResourceClaim>([](auto& claim) { claim.device_statuses.resize(kMany); }), false},
      {"conditions of a device", EventResource::kResourceClaim, Enlarged<ResourceClaim>([](auto& claim) {
         claim.device_statuses.emplace_back().conditions.resize(kMany);
       }),
       false},
      {"claims of a group", EventResource::kPodGroup,
       Enlarged<PodGroup>([](auto& group) { group.resource_claims.resize(kMany); })},
      {"conditions of a group", EventResource::kPodGroup,
       Enlarged<PodGroup>([](auto& group) { group.conditions.resize(kMany); }), false},
      {"statuses of a group's claims", EventResource::kPodGroup,
       Enlarged<PodGroup>([](auto& group) { group.resource_claim_statuses.resize(kMany); })},
      {"tasks of an external group", EventResource::kPodGroup, Enlarged<PodGroup>([](auto& group) {
         auto external = std::make_shared<PodGroup::External>();
         external->task_minimums.resize(kMany);
         group.external = std::move(external);
       })},
      {"resources of an external group", EventResource::kPodGroup, Enlarged<PodGroup>([](auto& group) {
         auto external = std::make_shared<PodGroup::External>();
         AddMany(external->min_resources);
         group.external = std::move(external);
       })},
      {"claims of a composite group", EventResource::kCompositePodGroup,
       Enlarged<api::CompositePodGroup>([](auto& group) { group.resource_claims.resize(kMany); })},
      {"guaranteed amounts of a quota", EventResource::kElasticQuota,
       Enlarged<ElasticQuota>([](auto& quota) { AddMany(quota.min.emplace()); })},
      {"limits of a quota", EventResource::kElasticQuota,
       Enlarged<ElasticQuota>([](auto& quota) { AddMany(quota.max.emplace()); })},
  };
  for (const auto& row : rows) {
    const ObjectSize size = SizeOfNew(row.resource, row.object);
    EXPECT_EQ(size.items >= kMany, row.read_by_hints) << row.what << ": " << size.items;
    EXPECT_GE(size.bytes, kMany * sizeof(api::StorageClass::TopologyTerm)) << row.what;
  }
}

TEST(ObjectSizeTest, TextsCountWithTheirLength) {
  api::Pod pod;
  const std::size_t bytes = SizeOfPod(pod).bytes;
  api::Volume volume;
  volume.id = kLongText;
  pod.spec.volumes = std::vector<api::Volume>(20, volume);
  EXPECT_GE(SizeOfPod(pod).bytes, bytes + 200'000);
  EXPECT_EQ(ExtraEvaluations(SizeOfPod(pod)), 1U);
}

TEST(ObjectSizeTest, AStoredEventOfAPodOnANodeCountsWhatHintsComputeFromIt) {
  constexpr framework::ClusterEvent kDeleted{EventResource::kAssignedPod, framework::kDelete, ""};
  constexpr framework::ClusterEvent kOther{EventResource::kUnscheduledPod, framework::kDelete, ""};
  const struct {
    const char* what;
    void (*enlarge)(api::Pod& pod);
    std::size_t computed;  // bytes for each of kMany parts, at least
  } rows[] = {
      {"affinity terms with a topology key only",
       [](api::Pod& pod) {
         std::vector<api::PodAffinityTerm>& terms = pod.spec.pod_affinity.emplace().required;
         terms.resize(kMany);
         for (std::size_t i = 0; i < kMany; ++i) terms[i].topology_key = "key-" + std::to_string(i);
       },
       1000},
      {"values of an affinity term",
       [](api::Pod& pod) {
         api::PodAffinityTerm term;
         term.label_selector.emplace().match_expressions.resize(1);
         term.label_selector->match_expressions[0].values.resize(kMany);
         pod.spec.pod_anti_affinity.emplace().required = {term};
       },
       2 * sizeof(std::string)},
      {"monitors of a volume",
       [](api::Pod& pod) {
         api::Volume volume;
         volume.rbd.emplace().monitors.resize(kMany);
         pod.spec.volumes = {volume};
       },
       8 * sizeof(std::string)},
      {"disks", [](api::Pod& pod) { pod.spec.volumes = std::vector<api::Volume>(kMany); }, 270},
      {"host ports",
       [](api::Pod& pod) {
         api::ContainerPort port;
         port.host_port = 80;
         api::Container container;
         container.ports = std::vector<api::ContainerPort>(kMany, port);
         pod.spec.containers = {container};
       },
       48},
      {"containers", [](api::Pod& pod) { pod.spec.containers = std::vector<api::Container>(kMany); }, 0},
  };
  for (const auto& row : rows) {
    const auto pod = std::make_shared<api::Pod>();
    row.enlarge(*pod);
    const ObjectSize other = SizeOfObjects(kOther, {pod, nullptr});
    EXPECT_LE(StoredBytes(other), other.bytes + 1000) << row.what;
    const ObjectSize deleted = SizeOfObjects(kDeleted, {pod, nullptr});
    EXPECT_GE(StoredBytes(deleted), deleted.bytes + kMany * row.computed) << row.what;
    if (row.computed > 0) continue;
    EXPECT_LE(StoredBytes(deleted), deleted.bytes + 1000) << row.what;
  }
}

TEST(ObjectSizeTest, TextsCountWhereverAnObjectHoldsThem) {
  using api::DeviceClass, api::Pod, api::PodGroup, api::ResourceSlice;
  const struct {
    const char* what;
    EventResource resource;
    std::shared_ptr<const void> object;
  } rows[] = {
      {"the object itself", EventResource::kVolumeAttachment,
       Enlarged<api::VolumeAttachment>([](auto& one) { one.node_name = kLongText; })},
      {"an optional text", EventResource::kVolumeAttachment,
       Enlarged<api::VolumeAttachment>([](auto& one) { one.persistent_volume_name = kLongText; })},
      {"an optional object", EventResource::kResourceClaim, Enlarged<api::ResourceClaim>([](auto& claim) {
         claim.requests.emplace_back().exactly.emplace().allocation_mode = kLongText;
       })},
      {"a shared text", EventResource::kTargetPod,
       Enlarged<Pod>([](auto& pod) { pod.metadata.deletion_timestamp = kLongText; })},
      {"a shared optional text", EventResource::kTargetPod,
       Enlarged<Pod>([](auto& pod) { pod.spec.pod_group = kLongText; })},
      {"the whole object as a text", EventResource::kTargetPod,
       Enlarged<Pod>([](auto& pod) { pod.text = kLongText; })},
      {"a shared object", EventResource::kTargetPod,
       Enlarged<Pod>([](auto& pod) { pod.metadata.controller.emplace().uid = kLongText; })},
      {"a shared list", EventResource::kTargetPod,
       Enlarged<Pod>([](auto& pod) { pod.spec.scheduling_gates = {kLongText}; })},
      {"a key of a label", EventResource::kTargetPod,
       Enlarged<Pod>([](auto& pod) { pod.spec.node_selector.Set(kLongText, ""); })},
      {"a value of a label", EventResource::kTargetPod,
       Enlarged<Pod>([](auto& pod) { pod.spec.node_selector.Set("", kLongText); })},
      {"a name of a resource", EventResource::kTargetPod,
       Enlarged<Pod>([](auto& pod) { pod.spec.overhead.try_emplace(kLongText, api::Quantity()); })},
      {"a list that hints do not read", EventResource::kTargetPod,
       Enlarged<Pod>([](auto& pod) { pod.status.conditions = {{"", "", "", kLongText, "", 0}}; })},
      {"a list", EventResource::kStorageClass,
       Enlarged<api::StorageClass>([](auto& one) { one.allowed_topologies = {{{"zone", {kLongText}}}}; })},
      {"a key of a map", EventResource::kResourceSlice,
       Enlarged<ResourceSlice>([](auto& slice) { slice.devices.emplace_back().capacity[kLongText]; })},
      {"an attribute of a device", EventResource::kResourceSlice, Enlarged<ResourceSlice>([](auto& slice) {
         slice.devices.emplace_back().attributes["model"].value = kLongText;
       })},
      {"a version of a device", EventResource::kResourceSlice, Enlarged<ResourceSlice>([](auto& slice) {
         slice.devices.emplace_back().attributes["driver"].value = api::DeviceAttribute::Version{kLongText};
       })},
      {"a shared part of a group", EventResource::kPodGroup, Enlarged<PodGroup>([](auto& group) {
         auto external = std::make_shared<PodGroup::External>();
         external->invalid = kLongText;
         group.external = std::move(external);
       })},
      {"the class of a volume's attributes", EventResource::kPersistentVolume,
       Enlarged<api::PersistentVolume>([](auto& one) { one.volume_attributes_class_name = kLongText; })},
      {"the class of a claim's attributes", EventResource::kPersistentVolumeClaim,
       Enlarged<api::PersistentVolumeClaim>([](auto& one) { one.volume_attributes_class_name = kLongText; })},
      {"the binding mode of a class", EventResource::kStorageClass,
       Enlarged<api::StorageClass>([](auto& one) { one.volume_binding_mode = kLongText; })},
      {"the class of a storage capacity", EventResource::kCSIStorageCapacity,
       Enlarged<api::CSIStorageCapacity>([](auto& one) { one.storage_class_name = kLongText; })},
      {"the time of a device class", EventResource::kDeviceClass,
       Enlarged<DeviceClass>([](auto& one) { one.creation_timestamp = kLongText; })},
      {"the time of a group", EventResource::kPodGroup,
       Enlarged<PodGroup>([](auto& one) { one.creation_timestamp = kLongText; })},
  };
  for (const auto& row : rows)
    EXPECT_GE(SizeOfNew(row.resource, row.object).bytes, kLongText.size()) << row.what;
}

TEST(ObjectSizeTest, LabelsOfObjectsOfAllKindsCount) {
  const auto with_labels = [](auto object) {
    AddMany(object.metadata.labels);
    return std::make_shared<const decltype(object)>(std::move(object));
  };
  const struct {
    const char* what;
    EventResource resource;
    std::shared_ptr<const void> object;
  } rows[] = {
      {"Pod", EventResource::kUnscheduledPod, with_labels(api::Pod())},
      {"Node", EventResource::kNode, with_labels(api::Node())},
      {"PersistentVolume", EventResource::kPersistentVolume, with_labels(api::PersistentVolume())},
      {"PersistentVolumeClaim", EventResource::kPersistentVolumeClaim,
       with_labels(api::PersistentVolumeClaim())},
      {"StorageClass", EventResource::kStorageClass, with_labels(api::StorageClass())},
      {"CSINode", EventResource::kCSINode, with_labels(api::CSINode())},
      {"CSIDriver", EventResource::kCSIDriver, with_labels(api::CSIDriver())},
      {"CSIStorageCapacity", EventResource::kCSIStorageCapacity, with_labels(api::CSIStorageCapacity())},
      {"VolumeAttachment", EventResource::kVolumeAttachment, with_labels(api::VolumeAttachment())},
      {"ResourceSlice", EventResource::kResourceSlice, with_labels(api::ResourceSlice())},
      {"DeviceClass", EventResource::kDeviceClass, with_labels(api::DeviceClass())},
      {"ResourceClaim", EventResource::kResourceClaim, with_labels(api::ResourceClaim())},
      {"PodGroup", EventResource::kPodGroup, with_labels(api::PodGroup())},
      {"CompositePodGroup", EventResource::kCompositePodGroup, with_labels(api::CompositePodGroup())},
      {"ElasticQuota", EventResource::kElasticQuota, with_labels(api::ElasticQuota())},
      {"NodeResourceTopology", EventResource::kNodeResourceTopology,
       with_labels(api::NodeResourceTopology())},
  };
  for (const auto& row : rows) {
    const ObjectSize size = SizeOfNew(row.resource, row.object);
    EXPECT_GE(size.items, kMany) << row.what;
    EXPECT_GE(size.bytes, kMany * sizeof(api::Labels::Entry)) << row.what;
    EXPECT_LT(SizeOfNew(row.resource, nullptr).items, kMany) << row.what;
  }
}

}  // namespace
}  // namespace berth::queue
