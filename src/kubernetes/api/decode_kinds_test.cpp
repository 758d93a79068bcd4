// Decoding of all kinds, except for the basics of pods and nodes in decode_test.cpp.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kubernetes/api/decode.hpp"
#include "kubernetes/api/dump.hpp"
#include "kubernetes/api/timestamp.hpp"

namespace berth::api {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

template <class T>
T Read(std::string_view json) {
  auto object = Decoder().Object<T>(json);
  EXPECT_TRUE(object) << object.error().message;
  return object ? std::move(*object) : T{};
}

// --- metadata ---
TEST(Metadata, KeepsTheControllerAndTheAnnotationsThatPluginsRead) {
  const auto pod = Read<Pod>(R"({"metadata": {"name": "a",
    "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "1"},
                        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "2", "controller": true},
                        {"apiVersion": "v1", "kind": "Late", "name": "x", "uid": "3", "controller": true}],
    "annotations": {"volume.kubernetes.io/selected-node": "n1", "kubectl.kubernetes.io/last-applied-configuration": "{}"}}})");
  ASSERT_TRUE(pod.metadata.controller);
  EXPECT_EQ(*pod.metadata.controller, (OwnerReference{"apps/v1", "ReplicaSet", "rs", "2"}));
  EXPECT_THAT(*pod.metadata.annotations, SizeIs(1));
  EXPECT_EQ(*pod.metadata.Annotation("volume.kubernetes.io/selected-node"), "n1");
  EXPECT_EQ(pod.metadata.Annotation("kubectl.kubernetes.io/last-applied-configuration"), nullptr);
}

TEST(Metadata, RetainsAnnotationsOnRequest) {
  constexpr std::string_view kPod = R"({"metadata": {"name": "a", "annotations": {
    "example.com/team": "blue", "example.com/other": "x", "volume.kubernetes.io/selected-node": "n1"}}})";
  Decoder decoder({.annotations = {"example.com/team", "example.com/absent"}});
  const auto pod = decoder.Object<Pod>(kPod);
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(*pod->metadata.annotations,
            (Labels{{"example.com/team", "blue"}, {"volume.kubernetes.io/selected-node", "n1"}}));
  EXPECT_EQ(Decoder().Object<Pod>(kPod)->metadata.Annotation("example.com/team"), nullptr);
  const auto event = decoder.Event<Namespace>(
      R"({"type": "ADDED", "object": {"metadata": {"name": "a", "annotations": {"example.com/team": "red"}}}})");
  EXPECT_EQ(*event->object->metadata.annotations, (Labels{{"example.com/team", "red"}}));
  EXPECT_EQ(decoder.Object<Pod>(R"({"metadata": {"annotations": {"example.com/team": 1}}})").error().message,
            "metadata.annotations.example.com/team: expected a string, got a number");
}

TEST(Metadata, OfPodsOfOneControllerSharesTheController) {
  Decoder decoder;
  const auto controller = [&](std::string_view uid) {
    const auto pod = decoder.Object<Pod>(
        R"({"metadata": {"ownerReferences": [{"kind": "ReplicaSet", "controller": true, "uid": ")" +
        std::string(uid) + "\"}]}}");
    return pod.value().metadata.controller;
  };
  const auto first = controller("1");
  EXPECT_EQ(first.identity(), controller("1").identity());
  EXPECT_NE(first, controller("2"));
}

TEST(Metadata, OfMostObjectsHasNoControllerAndNoAnnotations) {
  const auto pod = Read<Pod>(
      R"({"metadata": {"ownerReferences": [{"kind": "Node", "controller": false}], "annotations": {"x": "y"}}})");
  EXPECT_FALSE(pod.metadata.controller);
  EXPECT_FALSE(pod.metadata.annotations);
  EXPECT_EQ(pod.metadata.Annotation("x"), nullptr);
}

// --- pods ---
TEST(PodVolumes, ThatSchedulingDependsOnAreKept) {
  const auto pod = Read<Pod>(R"({"spec": {"volumes": [
    {"name": "token", "projected": {"sources": []}}, {"name": "tmp", "emptyDir": {}},
    {"name": "data", "persistentVolumeClaim": {"claimName": "c", "readOnly": true}},
    {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
    {"name": "inline", "csi": {"driver": "d"}},
    {"name": "gce", "gcePersistentDisk": {"pdName": "p"}},
    {"name": "ebs", "awsElasticBlockStore": {"volumeID": "v"}},
    {"name": "az", "azureDisk": {"diskName": "n", "diskURI": "u"}},
    {"name": "cinder", "cinder": {"volumeID": "ci"}},
    {"name": "px", "portworxVolume": {"volumeID": "po"}},
    {"name": "iscsi", "iscsi": {"targetPortal": "t", "iqn": "q", "lun": 0}},
    {"name": "rbd", "rbd": {"monitors": ["m1", "m2"], "pool": "p", "image": "i", "readOnly": true}}]}})");
  std::vector<std::string> seen;
  for (const Volume& volume : pod.spec.volumes) {
    seen.push_back(volume.name + "=" + std::to_string(int(volume.source)) + ":" + volume.id +
                   (volume.read_only ? " ro" : ""));
  }
  EXPECT_THAT(seen, ElementsAre("data=0:c ro", "scratch=1:", "inline=2:d", "gce=3:p", "ebs=4:v", "az=5:u",
                                "cinder=6:ci", "px=7:po", "iscsi=10:q", "rbd=11:i ro"));
  EXPECT_EQ(pod.spec.volumes[9].rbd->pool, "p");
  EXPECT_THAT(pod.spec.volumes[9].rbd->monitors, ElementsAre("m1", "m2"));
}

TEST(PodAffinity, IsDecodedWithAllSelectors) {
  const auto pod = Read<Pod>(R"({"spec": {"affinity": {
    "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
       {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "zone", "namespaces": ["x"],
        "namespaceSelector": {}, "matchLabelKeys": ["k"], "mismatchLabelKeys": ["m"]}]},
    "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
       {"weight": 7, "podAffinityTerm": {"topologyKey": "host",
        "labelSelector": {"matchExpressions": [{"key": "e", "operator": "In", "values": ["1"]}]}}}]}}}})");
  ASSERT_TRUE(pod.spec.pod_affinity);
  const PodAffinityTerm& term = pod.spec.pod_affinity->required.at(0);
  EXPECT_EQ(term.label_selector->match_labels, (Labels{{"app", "a"}}));
  EXPECT_TRUE(term.namespace_selector && term.namespace_selector->empty()) << "there, and empty";
  EXPECT_THAT(term.namespaces, ElementsAre("x"));
  EXPECT_EQ(term.topology_key, "zone");
  EXPECT_EQ(term.match_label_keys[0], "k");
  EXPECT_EQ(term.mismatch_label_keys[0], "m");
  const WeightedPodAffinityTerm& weighted = pod.spec.pod_anti_affinity->preferred.at(0);
  EXPECT_EQ(weighted.weight, 7);
  EXPECT_FALSE(weighted.term.namespace_selector);
  EXPECT_EQ(weighted.term.label_selector->match_expressions.at(0),
            (LabelSelectorRequirement{"e", "In", {"1"}}));
}

TEST(PodSpec, HasTheOtherFieldsThatPluginsRead) {
  const auto pod = Read<Pod>(R"({"spec": {"preemptionPolicy": "Never", "hostUsers": false,
    "schedulingGroup": {"podGroupName": "g"},
    "resourceClaims": [{"name": "a", "resourceClaimName": "c"}, {"name": "b", "resourceClaimTemplateName": "t"}],
    "topologySpreadConstraints": [{"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
       "labelSelector": {"matchLabels": {"a": "b"}}, "minDomains": 3, "nodeAffinityPolicy": "Ignore",
       "nodeTaintsPolicy": "Honor", "matchLabelKeys": ["k"]}, {"maxSkew": 1}],
    "containers": [{"name": "c", "volumeMounts": [{"name": "v"}]}],
    "initContainers": [{"name": "i", "restartPolicyRules": [{"action": "RestartAllContainers"}]}],
    "ephemeralContainers": [{"name": "e", "volumeMounts": [{"bindMountOptions": ["noexec"]}]}]}})");
  EXPECT_TRUE(pod.spec.never_preempts);
  EXPECT_EQ(pod.spec.host_users, false);
  EXPECT_EQ(*pod.spec.pod_group, "g");
  EXPECT_EQ(pod.spec.resource_claims[0].resource_claim_name, "c");
  EXPECT_EQ(pod.spec.resource_claims[0].resource_claim_template_name, std::nullopt);
  EXPECT_EQ(pod.spec.resource_claims[1].resource_claim_template_name, "t");
  const TopologySpreadConstraint& constraint = pod.spec.topology_spread_constraints[0];
  EXPECT_EQ(constraint.max_skew, 2);
  EXPECT_EQ(constraint.when_unsatisfiable, "DoNotSchedule");
  EXPECT_EQ(constraint.min_domains, 3);
  EXPECT_EQ(constraint.node_affinity_policy, "Ignore");
  EXPECT_EQ(constraint.node_taints_policy, "Honor");
  EXPECT_EQ(constraint.match_label_keys[0], "k");
  EXPECT_FALSE(pod.spec.topology_spread_constraints[1].label_selector);
  EXPECT_TRUE(pod.spec.restarts_all_containers);
  EXPECT_TRUE(pod.spec.bind_mount_options);
}

TEST(PodSpec, HasLocalStorageWithAVolumeOfKindEmptyDirOrHostPath) {
  const auto local = [](std::string_view volumes) {
    return Read<Pod>(R"({"spec": {"volumes": )" + std::string(volumes) + "}}").spec.local_storage;
  };
  EXPECT_TRUE(local(R"([{"name": "v", "emptyDir": {}}])"));
  EXPECT_TRUE(
      local(R"([{"name": "c", "configMap": {"name": "c"}}, {"name": "v", "hostPath": {"path": "/"}}])"));
  EXPECT_FALSE(local(R"([{"name": "v", "emptyDir": null, "persistentVolumeClaim": {"claimName": "c"}}])"));
  EXPECT_FALSE(local("[]"));
}

TEST(PodStatus, HasTheOtherFieldsThatPluginsRead) {
  const auto pod = Read<Pod>(R"({"status": {"startTime": "1970-01-02T00:00:01Z",
    "resourceClaimStatuses": [{"name": "a", "resourceClaimName": "a-1"}, {"name": "b"}],
    "extendedResourceClaimStatus": {"resourceClaimName": "x",
       "requestMappings": [{"containerName": "c", "resourceName": "r", "requestName": "q"}]}}})");
  EXPECT_EQ(pod.status.start_time, 86401);
  EXPECT_EQ(pod.status.resource_claim_statuses[0].resource_claim_name, "a-1");
  EXPECT_EQ(pod.status.resource_claim_statuses[1].resource_claim_name, std::nullopt);
  EXPECT_EQ(pod.status.extended_resource_claim->request_mappings.at(0).request_name, "q");
}

TEST(PodSpec, TakesEightBytesForEachAbsentOptionalMember) {
  static_assert(sizeof(CowList<Volume>) == 8 && sizeof(CowPtr<PodAffinity>) == 8);
  const auto pod = Read<Pod>(R"({"spec": {"containers": [{"name": "c"}]}})");
  EXPECT_TRUE(pod.spec.volumes.empty());
  EXPECT_FALSE(pod.spec.pod_affinity || pod.spec.pod_anti_affinity || pod.spec.pod_group);
  EXPECT_FALSE(pod.spec.never_preempts || pod.spec.restarts_all_containers || pod.spec.bind_mount_options);
  EXPECT_EQ(pod.spec.host_users, std::nullopt);
}

// --- nodes ---
TEST(Node, SortsItsDeclaredFeatures) {
  EXPECT_THAT(Read<Node>(R"({"status": {"declaredFeatures": ["B", "A"]}})").declared_features,
              ElementsAre("A", "B"));
}

TEST(Node, DigestChangesExactlyWhenAnnotationsChange) {
  const auto digest = [](std::string_view annotations) {
    return Read<Node>(R"({"metadata": {"annotations": )" + std::string(annotations) + "}}")
        .annotations_digest;
  };
  EXPECT_EQ(digest(R"({"a": "1", "b": "2"})"), digest(R"({"b": "2", "a": "1"})"));
  EXPECT_NE(digest(R"({"a": "1", "b": "2"})"), digest(R"({"a": "2", "b": "1"})"));
  EXPECT_NE(digest(R"({"a": ""})"), digest("{}"));
  EXPECT_EQ(digest("null"), 0U);
}

// --- storage ---
TEST(Storage, DecodesAPersistentVolume) {
  const auto volume = Read<PersistentVolume>(R"({"metadata": {"name": "pv"}, "spec": {
    "capacity": {"storage": "10Gi", "other": "1"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
    "volumeMode": "Block", "volumeAttributesClassName": "gold", "persistentVolumeReclaimPolicy": "Delete",
    "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "ns", "name": "c", "uid": "u"},
    "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]}},
    "csi": {"driver": "d", "volumeHandle": "h", "fsType": "ext4"}}, "status": {"phase": "Available"}})");
  EXPECT_EQ(volume.source, PersistentVolume::Source::kCsi);
  EXPECT_EQ(volume.driver + "/" + volume.volume_handle, "d/h");
  EXPECT_EQ(volume.storage.Value(), std::int64_t{10} << 30);
  EXPECT_THAT(volume.access_modes, ElementsAre("ReadWriteOnce"));
  EXPECT_EQ(volume.volume_mode, "Block");
  EXPECT_EQ(volume.volume_attributes_class_name, "gold");
  EXPECT_EQ(*volume.claim_ref, (PersistentVolume::ClaimRef{"ns", "c", "u"}));
  EXPECT_EQ(volume.node_affinity->terms.at(0).match_expressions.at(0).key, "zone");
  EXPECT_EQ(volume.phase, "Available");
  EXPECT_EQ(StorageClassOf(volume), "fast");
}

TEST(Storage, InTreeSourcesKeepTheFieldsOfTheCsiHandle) {
  using Source = PersistentVolume::Source;
  const auto read = [](std::string_view source) {
    const auto volume = Read<PersistentVolume>("{\"spec\": {" + std::string(source) + "}}");
    return std::pair(volume.source, volume.volume_handle);
  };
  EXPECT_EQ(read(R"("gcePersistentDisk": {"pdName": "p"})"),
            std::pair(Source::kGcePersistentDisk, std::string("p")));
  EXPECT_EQ(read(R"("awsElasticBlockStore": {"volumeID": "v"})"),
            std::pair(Source::kAwsElasticBlockStore, std::string("v")));
  EXPECT_EQ(read(R"("azureDisk": {"diskURI": "u"})"), std::pair(Source::kAzureDisk, std::string("u")));
  EXPECT_EQ(read(R"("cinder": {"volumeID": "c"})"), std::pair(Source::kCinder, std::string("c")));
  EXPECT_EQ(read(R"("portworxVolume": {"volumeID": "x"})"), std::pair(Source::kPortworx, std::string("x")));
  EXPECT_EQ(read(R"("hostPath": {"path": "/x"})"), std::pair(Source::kOther, std::string()));
}

TEST(Storage, DecodesAClaim) {
  const auto claim = Read<PersistentVolumeClaim>(R"({"metadata": {"name": "c", "namespace": "ns",
    "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, "spec": {"volumeName": "pv", "storageClassName": "",
    "accessModes": ["ReadWriteOncePod"], "resources": {"requests": {"storage": "1Gi"}},
    "selector": {"matchLabels": {"a": "b"}}, "volumeMode": "Filesystem"}, "status": {"phase": "Lost"}})");
  EXPECT_EQ(claim.volume_name, "pv");
  EXPECT_EQ(claim.storage_class_name, "") << "there, and empty";
  EXPECT_EQ(claim.storage->Value(), 1 << 30);
  EXPECT_EQ(claim.selector->match_labels, (Labels{{"a", "b"}}));
  EXPECT_EQ(claim.phase, "Lost");
  EXPECT_NE(claim.metadata.Annotation("pv.kubernetes.io/bind-completed"), nullptr);
}

TEST(Storage, TheBetaClassAnnotationOverridesTheField) {
  const auto claim = Read<PersistentVolumeClaim>(R"({"metadata": {"annotations":
    {"volume.beta.kubernetes.io/storage-class": "old"}}, "spec": {"storageClassName": "new"}})");
  EXPECT_EQ(StorageClassOf(claim), "old");
  EXPECT_EQ(StorageClassOf(PersistentVolumeClaim{}), "");
}

TEST(Storage, DecodesTheOtherStorageKinds) {
  const auto storage_class = Read<StorageClass>(R"({"metadata": {"name": "fast"}, "provisioner": "p",
    "volumeBindingMode": "WaitForFirstConsumer",
    "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}, {}]})");
  EXPECT_EQ(storage_class.provisioner, "p");
  EXPECT_EQ(storage_class.volume_binding_mode, "WaitForFirstConsumer");
  ASSERT_THAT(storage_class.allowed_topologies, SizeIs(2));
  EXPECT_EQ(storage_class.allowed_topologies[0],
            (StorageClass::TopologyTerm{{.key = "zone", .values = {"a", "b"}}}));
  EXPECT_THAT(storage_class.allowed_topologies[1], IsEmpty());

  const auto node = Read<CSINode>(R"({"metadata": {"name": "n"}, "spec": {"drivers": [
    {"name": "a", "nodeID": "x", "allocatable": {"count": 0}}, {"name": "b", "allocatable": null}]}})");
  EXPECT_EQ(node.drivers.at(0).count, 0);
  EXPECT_EQ(node.drivers.at(1).count, std::nullopt);

  EXPECT_TRUE(Read<CSIDriver>(R"({"spec": {"storageCapacity": true}})").storage_capacity);
  EXPECT_TRUE(Read<CSIDriver>(R"({"spec": {"preventPodSchedulingIfMissing": true}})")
                  .prevent_pod_scheduling_if_missing);

  const auto capacity = Read<CSIStorageCapacity>(R"({"storageClassName": "fast", "nodeTopology": {},
    "capacity": "5Gi", "maximumVolumeSize": "1Gi"})");
  EXPECT_TRUE(capacity.node_topology && capacity.node_topology->empty());
  EXPECT_EQ(capacity.capacity->Value(), std::int64_t{5} << 30);
  EXPECT_EQ(capacity.maximum_volume_size->Value(), 1 << 30);
  EXPECT_FALSE(Read<CSIStorageCapacity>("{}").node_topology);

  const auto attachment = Read<VolumeAttachment>(
      R"({"spec": {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "pv"}}})");
  EXPECT_EQ(attachment.attacher + "/" + attachment.node_name, "d/n");
  EXPECT_EQ(attachment.persistent_volume_name, "pv");
}

// --- what groups pods ---
TEST(Workloads, DecodeTheirSelectors) {
  EXPECT_EQ(Read<Service>(R"({"spec": {"selector": {"a": "b"}}})").selector, (Labels{{"a", "b"}}));
  EXPECT_EQ(Read<ReplicationController>(R"({"spec": {"selector": {"a": "b"}}})").selector,
            (Labels{{"a", "b"}}));
  EXPECT_EQ(Read<ReplicaSet>(R"({"spec": {"selector": {"matchLabels": {"a": "b"}}}})").selector->match_labels,
            (Labels{{"a", "b"}}));
  EXPECT_FALSE(Read<StatefulSet>(R"({"spec": {}})").selector);
  EXPECT_EQ(Read<Namespace>(R"({"metadata": {"name": "n", "labels": {"team": "x"}}})").metadata.labels,
            (Labels{{"team", "x"}}));
}

TEST(Workloads, DecodeADisruptionBudget) {
  const auto budget = Read<PodDisruptionBudget>(R"({"spec": {"selector": {}, "minAvailable": "50%"},
    "status": {"disruptionsAllowed": 2, "disruptedPods": {"b": "2026-01-01T00:00:00Z", "a": "2026-01-01T00:00:00Z"}}})");
  EXPECT_TRUE(budget.selector && budget.selector->empty());
  EXPECT_EQ(budget.disruptions_allowed, 2);
  EXPECT_THAT(budget.disrupted_pods, ElementsAre("a", "b"));
}

// --- devices ---
std::vector<std::string> RequestsOf(std::string_view json) {
  std::vector<std::string> out;
  for (const auto& request : Read<ResourceClaim>(json).requests) {
    if (request.exactly) {
      out.push_back(fmt::format("{}: {} {} x {}", request.name, request.exactly->allocation_mode,
                                request.exactly->count, request.exactly->device_class_name));
    }
    for (const auto& [name, devices] : request.first_available)
      out.push_back(
          fmt::format("{}/{}: {} x {}", request.name, name, devices.count, devices.device_class_name));
  }
  return out;
}

TEST(Devices, DecodeRequestsOfV1AndBetaVersions) {
  EXPECT_THAT(
      RequestsOf(R"({"spec": {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "gpu"}},
    {"name": "b", "firstAvailable": [{"name": "x", "deviceClassName": "big", "count": 3},
                                     {"name": "y", "deviceClassName": "small"}]}]}}})"),
      ElementsAre("a: ExactCount 1 x gpu", "b/x: 3 x big", "b/y: 1 x small"));
  EXPECT_THAT(RequestsOf(R"({"spec": {"devices": {"requests": [
    {"name": "a", "deviceClassName": "gpu", "allocationMode": "All"}]}}})"),
              ElementsAre("a: All 0 x gpu"));
}

TEST(Devices, DecodeTheParametersOfARequest) {
  const auto claim = Read<ResourceClaim>(R"({"metadata": {"finalizers": ["f"]}, "spec": {"devices": {
    "requests": [{"name": "a", "exactly": {"deviceClassName": "gpu", "adminAccess": true,
      "selectors": [{"cel": {"expression": "true"}}, {"other": {}}],
      "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 5}],
      "capacity": {"requests": {"memory": "2Gi"}}, "derivedAttributes": [{}]}}],
    "constraints": [{"requests": ["a"], "matchAttribute": "d/x"}, {"distinctAttribute": "d/y"}],
    "config": [{"requests": ["a"], "opaque": {"driver": "d", "parameters": {"x": [1, "2"]}}}]}}})");
  EXPECT_THAT(claim.finalizers, ElementsAre("f"));
  const ResourceClaim::DeviceRequest& request = *claim.requests.at(0).exactly;
  EXPECT_EQ(request.admin_access, true);
  EXPECT_EQ(request.selectors.at(0).cel_expression, "true");
  EXPECT_EQ(request.selectors.at(1).cel_expression, std::nullopt);
  EXPECT_EQ(request.tolerations.at(0), (DeviceToleration{"k", "Exists", "", "", 5}));
  EXPECT_EQ(request.capacity->at("memory").Canonical(), "2Gi");
  EXPECT_TRUE(request.derived_attributes);
  EXPECT_EQ(claim.constraints.at(0).match_attribute, "d/x");
  EXPECT_THAT(claim.constraints.at(0).requests, ElementsAre("a"));
  EXPECT_EQ(claim.constraints.at(1).distinct_attribute, "d/y");
  EXPECT_THAT(claim.config.at(0).requests, ElementsAre("a"));
  EXPECT_EQ(claim.config.at(0).parameters, R"({"opaque":{"driver":"d","parameters":{"x":[1,"2"]}}})");
}

TEST(Devices, DecodeAClaimWithAllocationAndConsumers) {
  const auto claim = Read<ResourceClaim>(R"({"status": {
    "allocation": {"devices": {"results": [{"request": "a", "driver": "d", "pool": "p", "device": "0"},
        {"request": "b", "driver": "d", "pool": "p", "device": "1", "shareID": "s", "consumedCapacity": {"m": "1"},
         "bindingConditions": ["Ready"], "bindingFailureConditions": ["Failed"]}],
      "config": [{"source": "FromClass", "requests": ["a"], "opaque": {"driver": "d"}}]},
      "nodeSelector": {"nodeSelectorTerms": [{}]}, "allocationTimestamp": "2026-01-01T00:00:00Z"},
    "reservedFor": [{"resource": "pods", "name": "pod", "uid": "u"}],
    "devices": [{"driver": "d", "pool": "p", "device": "1",
                 "conditions": [{"type": "Ready", "status": "True", "reason": "r", "message": "m"}]}]}})");
  ResourceClaim::AllocatedDevice first;
  first.request = "a";
  first.driver = "d";
  first.pool = "p";
  first.device = "0";
  EXPECT_EQ(claim.allocation->devices.at(0), first);
  const ResourceClaim::AllocatedDevice& shared = claim.allocation->devices.at(1);
  EXPECT_EQ(shared.share_id, "s");
  EXPECT_EQ(shared.consumed_capacity.at("m").Canonical(), "1");
  EXPECT_THAT(shared.binding_conditions, ElementsAre("Ready"));
  EXPECT_THAT(shared.binding_failure_conditions, ElementsAre("Failed"));
  EXPECT_EQ(claim.allocation->config.at(0).source, "FromClass");
  EXPECT_EQ(claim.allocation->config.at(0).configuration.parameters, R"({"opaque":{"driver":"d"}})");
  EXPECT_THAT(claim.allocation->node_selector->terms, SizeIs(1));
  EXPECT_EQ(claim.allocation->timestamp, "2026-01-01T00:00:00Z");
  EXPECT_EQ(claim.reserved_for.at(0).uid, "u");
  EXPECT_EQ(claim.device_statuses.at(0).conditions.at(0),
            (ResourceClaim::DeviceStatus::Condition{"Ready", "True", "r", "m"}));
  EXPECT_FALSE(Read<ResourceClaim>(R"({"status": {}})").allocation);
}

TEST(Devices, DecodeASliceWithItsDevices) {
  const auto slice = Read<ResourceSlice>(R"({"spec": {"driver": "d", "nodeName": "n",
    "pool": {"name": "p", "generation": 3, "resourceSliceCount": 2},
    "sharedCounters": [{"name": "set", "counters": {"memory": {"value": "40Gi"}}}],
    "devices": [{"name": "0", "allowMultipleAllocations": true, "bindsToNode": true,
      "attributes": {"model": {"string": "a"}, "index": {"int": 2}, "new": {"bool": true},
                     "driver": {"version": "1.2.3"}, "other": {"list": []}},
      "capacity": {"memory": {"value": "10Gi", "requestPolicy": {"default": "1Gi", "validValues": ["1Gi", "2Gi"],
                              "validRange": {"min": "1Gi", "max": "4Gi", "step": "1Gi"}}}},
      "consumesCounters": [{"counterSet": "set", "counters": {"memory": {"value": "10Gi"}}}],
      "taints": [{"key": "k", "effect": "NoSchedule"}]}, {"name": "1", "nodeName": "m"}]}})");
  EXPECT_EQ(slice.driver + "/" + slice.pool + "@" + slice.node_name, "d/p@n");
  EXPECT_EQ(slice.pool_generation, 3);
  EXPECT_EQ(slice.pool_slice_count, 2);
  EXPECT_EQ(slice.shared_counters.at(0).counters.at("memory").Canonical(), "40Gi");
  const Device& device = slice.devices.at(0);
  EXPECT_TRUE(device.allow_multiple_allocations && device.binds_to_node);
  EXPECT_EQ(std::get<std::string>(device.attributes.at("model").value), "a");
  EXPECT_EQ(std::get<std::int64_t>(device.attributes.at("index").value), 2);
  EXPECT_TRUE(std::get<bool>(device.attributes.at("new").value));
  EXPECT_EQ(std::get<DeviceAttribute::Version>(device.attributes.at("driver").value).text, "1.2.3");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(device.attributes.at("other").value));
  const DeviceCapacity& memory = device.capacity.at("memory");
  EXPECT_EQ(memory.value.Canonical(), "10Gi");
  EXPECT_EQ(memory.request_policy->default_request->Canonical(), "1Gi");
  EXPECT_THAT(memory.request_policy->valid_values, SizeIs(2));
  EXPECT_EQ(memory.request_policy->valid_range->max->Canonical(), "4Gi");
  EXPECT_EQ(device.consumes_counters.at(0).counters.at("memory").Canonical(), "10Gi");
  EXPECT_EQ(device.taints.at(0), (DeviceTaint{"k", "", "NoSchedule"}));
  EXPECT_EQ(slice.devices.at(1).node_name, "m");
  EXPECT_EQ(Read<ResourceSlice>(R"({"spec": {"devices": [{"name": "0", "basic": {
    "attributes": {"model": {"string": "a"}}}}]}})")
                .devices.at(0)
                .attributes.size(),
            1)
      << "as in v1beta1";
}

TEST(Devices, DecodeAClassAndATaintRule) {
  const auto device_class =
      Read<DeviceClass>(R"({"metadata": {"name": "gpu", "creationTimestamp": "2026-01-01T00:00:00Z"},
    "spec": {"extendedResourceName": "example.com/gpu", "selectors": [{"cel": {"expression": "x"}}],
             "config": [{"opaque": {"driver": "d", "parameters": {}}}]}})");
  EXPECT_EQ(device_class.extended_resource_name, "example.com/gpu");
  EXPECT_EQ(device_class.creation_timestamp, "2026-01-01T00:00:00Z");
  EXPECT_EQ(device_class.selectors.at(0).cel_expression, "x");
  EXPECT_EQ(device_class.config.at(0).parameters, R"({"opaque":{"driver":"d","parameters":{}}})");
  const auto rule = Read<DeviceTaintRule>(R"({"spec": {"deviceSelector": {"pool": "p"},
    "taint": {"key": "k", "effect": "NoExecute"}}})");
  EXPECT_EQ(rule.selector->pool, "p");
  EXPECT_EQ(rule.selector->driver, std::nullopt);
  EXPECT_EQ(rule.taint.effect, "NoExecute");
}

TEST(DecodeKinds, ElasticQuota) {
  const auto quota = Read<ElasticQuota>(R"({
      "metadata": {"name": "q", "namespace": "a"},
      "spec": {"min": {"cpu": "4"}, "max": {}},
      "status": {"used": {"cpu": "1"}}})");
  EXPECT_EQ(quota.metadata.ns, "a");
  EXPECT_EQ(quota.min->at("cpu").MilliValue(), 4000);
  ASSERT_TRUE(quota.max.has_value()) << "an empty list and an absent one differ";
  EXPECT_TRUE(quota.max->empty());
  EXPECT_EQ(Read<ElasticQuota>(R"({"metadata": {"name": "q"}})").max, std::nullopt);
}

TEST(DecodeKinds, NodeResourceTopology) {
  const auto topology = Read<NodeResourceTopology>(R"({
      "metadata": {"name": "n"},
      "topologyPolicies": ["SingleNUMANodePodLevel"],
      "attributes": [{"name": "topologyManagerScope", "value": "pod"}],
      "zones": [{"name": "node-0", "type": "Node", "parent": "socket-0",
                 "costs": [{"name": "node-1", "value": 20}],
                 "resources": [{"name": "cpu", "capacity": "4", "allocatable": 4, "available": 3}]}]})");
  EXPECT_EQ(topology.metadata.name, "n");
  EXPECT_THAT(topology.topology_policies, ::testing::ElementsAre("SingleNUMANodePodLevel"));
  EXPECT_EQ(topology.attributes.at(0).value, "pod");
  ASSERT_EQ(topology.zones.size(), 1u);
  const auto& zone = topology.zones[0];
  EXPECT_EQ(zone.type, "Node");
  EXPECT_EQ(zone.costs.at(0).value, 20);
  EXPECT_EQ(zone.resources.at(0).name, "cpu");
  EXPECT_EQ(zone.resources.at(0).available.MilliValue(), 3000);
}

TEST(DecodeKinds, PriorityClass) {
  const auto object = Read<PriorityClass>(R"({
      "metadata": {"name": "batch", "annotations": {
        "preemption-toleration.scheduling.x-k8s.io/minimum-preemptable-priority": "100",
        "preemption-toleration.scheduling.x-k8s.io/toleration-seconds": "-1",
        "other": "text"}},
      "value": -7, "globalDefault": true, "preemptionPolicy": "Never"})");
  EXPECT_EQ(object.metadata.name, "batch");
  EXPECT_EQ(object.value, -7);
  EXPECT_EQ(*object.metadata.Annotation(PriorityClass::kMinimumPreemptablePriority), "100");
  EXPECT_EQ(*object.metadata.Annotation(PriorityClass::kTolerationSeconds), "-1");
  EXPECT_EQ(object.metadata.Annotation("other"), nullptr);
}

// --- mistakes ---
TEST(EveryKind, IsRejectedWithThePathOfTheField) {
  AllKinds::ForEach([]<class T>() {
    const auto object = Decoder().Object<T>(R"({"metadata": {"labels": {"a": 1}}})");
    ASSERT_FALSE(object) << T::kKind;
    EXPECT_EQ(object.error().message, "metadata.labels.a: expected a string, got a number") << T::kKind;
  });
  EXPECT_EQ(Decoder()
                .Object<CSINode>(R"({"spec": {"drivers": [{}, {"allocatable": {"count": "x"}}]}})")
                .error()
                .message,
            "spec.drivers[1].allocatable.count: expected an integer, got a string");
  EXPECT_EQ(Decoder().Object<Pod>(R"({"status": {"startTime": "noon"}})").error().message,
            "status.startTime: \"noon\" is not an RFC 3339 time");
}

// --- times ---
TEST(Timestamp, IsParsedAsRfc3339) {
  EXPECT_EQ(ParseTimestamp("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(ParseTimestamp("2026-11-21T12:00:00Z"), 1795262400);
  EXPECT_EQ(ParseTimestamp("2026-11-21T12:00:00.123456Z"), 1795262400);
  EXPECT_EQ(ParseTimestamp("2026-11-21T13:30:00+01:30"), 1795262400);
  EXPECT_EQ(ParseTimestamp("2026-11-21T04:00:00-08:00"), 1795262400);
  EXPECT_EQ(ParseTimestamp("1969-12-31T23:59:59Z"), -1);
  EXPECT_EQ(ParseTimestamp("2024-02-29T00:00:00Z"), 1709164800) << "a leap day";
}

TEST(Timestamp, RejectsOtherFormats) {
  for (const auto* text :
       {"", "2026", "2026-11-21", "2026-11-21 12:00:00Z", "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z",
        "2026-11-21T24:00:00Z", "2026-11-21T12:00:00", "2026-11-21T12:00:00.Z", "2026-11-21T12:00:00Zx",
        "2026-11-21T12:00:00+1", "-026-11-21T12:00:00Z"}) {
    EXPECT_EQ(ParseTimestamp(text), std::nullopt) << text;
  }
}

// --- dumps ---
TEST(Dump, StoresEveryKindByKeyWithDefaults) {
  Dump dump;
  const auto documents = SplitDocuments(R"({"kind": "List", "items": [
    {"kind": "PersistentVolumeClaim", "metadata": {"name": "c"}},
    {"kind": "StorageClass", "metadata": {"name": "s"}, "provisioner": "p"},
    {"kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": {"capacity": {"storage": 1024}}},
    {"kind": "Namespace", "metadata": {"name": "n", "labels": {"a": "1"}}},
    {"kind": "Namespace", "metadata": {"name": "n", "labels": {"a": "2"}}},
    {"kind": "Deployment", "metadata": {"name": "d"}}]})");
  for (const Document& document : documents->objects) ASSERT_TRUE(dump.Add(document));
  EXPECT_EQ(dump.Of<PersistentVolumeClaim>().at("default/c")->phase, "Pending");
  EXPECT_EQ(dump.Of<StorageClass>().at("s")->volume_binding_mode, "Immediate");
  EXPECT_EQ(dump.Of<PersistentVolume>().at("v")->volume_mode, "Filesystem");
  EXPECT_EQ(dump.Of<PersistentVolume>().at("v")->storage.Value(), 1024);
  EXPECT_EQ(*dump.Of<Namespace>().at("n")->metadata.labels.Find("a"), "2") << "the later counts";
  EXPECT_THAT(dump.Of<Pod>(), IsEmpty());
}

TEST(Dump, IgnoresObjectsOfOtherGroupsWithTheSameKind) {
  const std::string object = R"({"metadata": {"name": "a"}, "spec": {}})";
  Dump dump;
  ASSERT_TRUE(dump.Add({"Service", "serving.knative.dev", object, ""}));
  ASSERT_TRUE(dump.Add({"ReplicaSet", "example.com", object, ""}));
  EXPECT_THAT(dump.Of<Service>(), IsEmpty());
  EXPECT_THAT(dump.Of<ReplicaSet>(), IsEmpty());
  ASSERT_TRUE(dump.Add({"Service", "", object, ""}));
  ASSERT_TRUE(dump.Add({"ReplicaSet", "apps", object, ""}));
  ASSERT_TRUE(dump.Add({"ElasticQuota", "scheduling.sigs.k8s.io", object, ""}));
  EXPECT_EQ(dump.Of<Service>().size(), 1U);
  EXPECT_EQ(dump.Of<ReplicaSet>().size(), 1U);
  EXPECT_EQ(dump.Of<ElasticQuota>().size(), 1U);
}

TEST(Dump, QuotasOfTwoProjectsDoNotReplaceEachOther) {
  const auto quota = [](std::string_view min) {
    return fmt::format(
        R"({{"metadata": {{"name": "q", "namespace": "a"}}, "spec": {{"min": {{"cpu": "{}"}}}}}})", min);
  };
  const std::string_view groups[] = {"scheduling.x-k8s.io", "scheduling.sigs.k8s.io"};
  for (const int first : {0, 1}) {
    Dump dump;
    ASSERT_TRUE(dump.Add({"ElasticQuota", std::string(groups[first]), quota("1"), ""}));
    const auto added = dump.Add({"ElasticQuota", std::string(groups[1 - first]), quota("2"), ""});
    ASSERT_FALSE(added);
    EXPECT_THAT(added.error().message,
                StartsWith(fmt::format("metadata.name: \"a/q\" is also an ElasticQuota of {}, which is kept",
                                       groups[first])));
    EXPECT_EQ(dump.Of<ElasticQuota>().at("a/q")->min->at("cpu").Value(), 1);
    ASSERT_TRUE(dump.Add({"ElasticQuota", std::string(groups[first]), quota("3"), ""}));
    EXPECT_EQ(dump.Of<ElasticQuota>().at("a/q")->min->at("cpu").Value(), 3) << "the later counts";
  }
}

TEST(Dump, RejectsObjectsWithoutANameAndInvalidObjects) {
  Dump dump;
  EXPECT_EQ(dump.Add({"CSINode", "storage.k8s.io", "{}", ""}).error().message,
            "metadata.name: Required value");
  EXPECT_EQ(dump.Add({"CSINode", "storage.k8s.io", R"({"spec": 1})", ""}).error().message,
            "spec: expected an object, got a number");
}

TEST(DecodeKinds, CompositePodGroup) {
  const auto group = Read<CompositePodGroup>(R"({
      "metadata": {"name": "c", "namespace": "ns", "uid": "u", "creationTimestamp": "2026-01-02T03:04:05Z"},
      "spec": {"schedulingPolicy": {"gang": {"minGroupCount": 2}}, "priority": 7,
               "preemptionPolicy": "Never", "disruptionMode": {"all": {}},
               "schedulingConstraints": {"topology": [{"key": "zone"}]},
               "parentCompositePodGroupName": "root"}})");
  EXPECT_TRUE(group.composite);
  EXPECT_EQ(group.metadata.Key(), "ns/c");
  EXPECT_EQ(group.creation_timestamp, "2026-01-02T03:04:05Z");
  EXPECT_EQ(group.min_count(), 2);
  EXPECT_EQ(group.priority, 7);
  EXPECT_EQ(group.preemption_policy, "Never");
  EXPECT_TRUE(group.disrupted_as_a_unit);
  EXPECT_EQ(group.topology_key, "zone");
  EXPECT_EQ(group.parent, "root");
  const auto basic =
      Read<CompositePodGroup>(R"({"metadata": {"name": "c"}, "spec": {"schedulingPolicy": {"basic": {}}}})");
  EXPECT_EQ(basic.min_count(), 1);
  EXPECT_FALSE(Read<PodGroup>(R"({"metadata": {"name": "g"}})").composite);
}

}  // namespace
}  // namespace berth::api
