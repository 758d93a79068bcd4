#include "kubernetes/api/encode.hpp"

#include <gtest/gtest.h>

#include "kubernetes/api/decode.hpp"

namespace berth::api {
namespace {

// The text of an object that was read from `json`.
template <class T>
std::string Rewritten(std::string_view json) {
  const auto object = Decoder().Object<T>(json);
  EXPECT_TRUE(object) << object.error().message;
  std::string text;
  if (object) AppendJson(text, *object);
  return text;
}

// Each text has every member that a decoder retains, in the order in which it is written.
template <class T>
void ExpectUnchanged(std::string_view json) {
  EXPECT_EQ(Rewritten<T>(json), json);
}

TEST(AppendJson, WritesEveryMemberOfAPod) {
  ExpectUnchanged<Pod>(
      R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","namespace":"shop","uid":"u1","resourceVersion":"7",)"
      R"("generation":3,"labels":{"app":"web","tier":"\"front\""},"annotations":{"volume.kubernetes.io/selected-node":"n1"},)"
      R"("deletionTimestamp":"2026-01-02T03:04:05Z","ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet",)"
      R"("name":"web-1","uid":"u2","controller":true}]},)"
      R"("spec":{"schedulerName":"berth","priority":-5,"preemptionPolicy":"Never",)"
      R"("schedulingGates":[{"name":"example.com/quota"},{"name":"b"}],"nodeSelector":{"disk":"ssd"},)"
      R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)"
      R"({"matchExpressions":[{"key":"zone","operator":"In","values":["a","b"]}],)"
      R"("matchFields":[{"key":"metadata.name","operator":"NotIn","values":["n9"]}]}]},)"
      R"("preferredDuringSchedulingIgnoredDuringExecution":[{"weight":10,"preference":{"matchExpressions":[)"
      R"({"key":"gpu","operator":"Exists"}]}}]},)"
      R"("podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"labelSelector":{"matchLabels":{"app":"db"},)"
      R"("matchExpressions":[{"key":"x","operator":"In","values":["1"]}]},"namespaces":["shop"],"namespaceSelector":{},)"
      R"("topologyKey":"zone","matchLabelKeys":["k"],"mismatchLabelKeys":["m"]}],)"
      R"("preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"podAffinityTerm":{"topologyKey":"rack"}}]},)"
      R"("podAntiAffinity":{}},)"
      R"("tolerations":[{"key":"spot","operator":"Equal","value":"yes","effect":"NoSchedule"}],)"
      R"("containers":[{"name":"c","image":"registry/c:1","resources":{"requests":{"cpu":"100m","memory":"1Gi"},)"
      R"("limits":{"cpu":"1500m"}},"ports":[{"containerPort":80,"hostPort":8080,"protocol":"TCP","hostIP":"10.0.0.1"}]}],)"
      R"("initContainers":[{"name":"side","image":"s","restartPolicy":"Always"}],)"
      R"("ephemeralContainers":[{"restartPolicyRules":[{"action":"RestartAllContainers"}],)"
      R"("volumeMounts":[{"bindMountOptions":["ro"]}]}],)"
      R"("resources":{"requests":{"cpu":"2"}},"overhead":{"cpu":"10m"},)"
      R"("volumes":[{"name":"a","persistentVolumeClaim":{"claimName":"data","readOnly":true}},{"name":"b","ephemeral":{}},)"
      R"({"name":"c","azureDisk":{"diskURI":"d","kind":"Shared"}},)"
      R"({"name":"d","rbd":{"image":"i","pool":"p","monitors":["m1","m2"]}},)"
      R"({"image":{"reference":"registry/model:1"}},{"emptyDir":{}}],)"
      R"("topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule",)"
      R"("labelSelector":{"matchLabels":{"app":"web"}},"minDomains":2,"nodeAffinityPolicy":"Ignore",)"
      R"("nodeTaintsPolicy":"Honor","matchLabelKeys":["pod-template-hash"]}],)"
      R"("resourceClaims":[{"name":"gpu","resourceClaimName":"shared"},{"name":"nic","resourceClaimTemplateName":"t"}],)"
      R"("schedulingGroup":{"podGroupName":"g"},"hostNetwork":true,"hostUsers":false},)"
      R"("status":{"phase":"Pending","nominatedNodeName":"n2","conditions":[{"type":"PodScheduled","status":"False",)"
      R"("reason":"Unschedulable","message":"0/3 nodes","lastTransitionTime":"2026-01-02T03:04:06Z","observedGeneration":3}],)"
      R"("startTime":"2026-01-02T03:04:07Z","containerStatuses":[{"name":"c","allocatedResources":{"cpu":"1"},)"
      R"("resources":{"requests":{"cpu":"900m"}}}],"initContainerStatuses":[{"name":"side"}],)"
      R"("resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"shared"},{"name":"nic"}],)"
      R"("extendedResourceClaimStatus":{"resourceClaimName":"e","requestMappings":[{"containerName":"c",)"
      R"("resourceName":"example.com/gpu","requestName":"r"}]},"allocatedResources":{"cpu":"2"},)"
      R"("resources":{"requests":{"cpu":"2"}}}})");
}

TEST(AppendJson, WritesEachKindOfPodVolume) {
  for (const std::string source :
       {R"("persistentVolumeClaim":{"claimName":"x"})", R"("csi":{"driver":"x"})",
        R"("gcePersistentDisk":{"pdName":"x"})", R"("awsElasticBlockStore":{"volumeID":"x"})",
        R"("azureDisk":{"diskURI":"x"})", R"("cinder":{"volumeID":"x"})",
        R"("portworxVolume":{"volumeID":"x"})", R"("azureFile":{"shareName":"x"})",
        R"("vsphereVolume":{"volumePath":"x"})", R"("iscsi":{"iqn":"x"})", R"("rbd":{"image":"x"})",
        R"("ephemeral":{})"}) {
    ExpectUnchanged<Pod>(
        R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":{"volumes":[{"name":"v",)" +
        source + "}]}}");
  }
}

TEST(AppendJson, LeavesOutWhatNobodyRetains) {
  EXPECT_EQ(
      Rewritten<Pod>(R"({"metadata":{"name":"a","annotations":{"password":"p"}},"spec":{"containers":[
                {"name":"c","env":[{"name":"TOKEN","value":"t"}],"command":["--secret=s"]}]},"status":{}})"),
      R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":{"containers":[{"name":"c"}]}})");
}

TEST(AppendJson, WritesEveryMemberOfANode) {
  const std::string written = Rewritten<Node>(
      R"({"kind":"Node","apiVersion":"v1","metadata":{"name":"n"},"spec":{"unschedulable":true,)"
      R"("taints":[{"key":"k","value":"v","effect":"NoExecute"}]},"status":{"allocatable":{"cpu":"4","memory":"8Gi"},)"
      R"("capacity":{"cpu":"5"},"images":[{"names":["a","b"],"sizeBytes":12}],"conditions":[{"type":"Ready","status":"True"}],)"
      R"("addresses":[{"type":"InternalIP","address":"10.0.0.1"}],"declaredFeatures":["A","B"]}})");
  EXPECT_EQ(
      written,
      R"({"kind":"Node","apiVersion":"v1","metadata":{"name":"n"},"spec":{"unschedulable":true,)"
      R"("taints":[{"key":"k","value":"v","effect":"NoExecute"}]},"status":{"allocatable":{"cpu":"4","memory":"8Gi"},)"
      R"("capacity":{"cpu":"5"},"images":[{"names":["a","b"],"sizeBytes":12}],"conditions":[{"type":"Ready","status":"True"}],)"
      R"("addresses":[{"type":"InternalIP","address":"10.0.0.1"}],"declaredFeatures":["A","B"]}})");
}

TEST(AppendJson, KeepsTheDifferenceBetweenAnAbsentAndAnEmptyAllocatable) {
  ExpectUnchanged<Node>(
      R"({"kind":"Node","apiVersion":"v1","metadata":{"name":"n"},"status":{"allocatable":{}}})");
  ExpectUnchanged<Node>(R"({"kind":"Node","apiVersion":"v1","metadata":{"name":"n"}})");
}

TEST(AppendJson, WritesOneAnnotationForAllOfANode) {
  const auto annotated = [](std::string_view value) {
    return Rewritten<Node>(R"({"metadata":{"name":"n","annotations":{"a":")" + std::string(value) + "\"}}}");
  };
  EXPECT_EQ(annotated("1"), annotated("1"));
  EXPECT_NE(annotated("1"), annotated("2"));
  EXPECT_EQ(annotated("secret").find("secret"), std::string::npos);
  const auto digest = [](const std::string& json) {
    return Decoder().Object<Node>(json)->annotations_digest;
  };
  EXPECT_NE(digest(annotated("1")), digest(annotated("2")));
}

TEST(AppendJson, WritesEveryMemberOfStorageKinds) {
  ExpectUnchanged<PersistentVolume>(
      R"({"kind":"PersistentVolume","apiVersion":"v1","metadata":{"name":"pv"},"spec":{"capacity":{"storage":"5Gi"},)"
      R"("csi":{"driver":"d","volumeHandle":"h"},"accessModes":["ReadWriteOnce"],"storageClassName":"fast",)"
      R"("volumeMode":"Block","volumeAttributesClassName":"gold","claimRef":{"namespace":"a","name":"b","uid":"c"},)"
      R"("nodeAffinity":{"required":{"nodeSelectorTerms":[{}]}}},"status":{"phase":"Bound"}})");
  for (const std::string source :
       {R"("gcePersistentDisk":{"pdName":"x"})", R"("awsElasticBlockStore":{"volumeID":"x"})",
        R"("azureDisk":{"diskURI":"x","kind":"Shared"})", R"("cinder":{"volumeID":"x"})",
        R"("portworxVolume":{"volumeID":"x"})"}) {
    ExpectUnchanged<PersistentVolume>(
        R"({"kind":"PersistentVolume","apiVersion":"v1","metadata":{"name":"pv"},"spec":{"capacity":{"storage":"0"},)" +
        source + "}}");
  }
  ExpectUnchanged<PersistentVolumeClaim>(
      R"({"kind":"PersistentVolumeClaim","apiVersion":"v1","metadata":{"name":"c","namespace":"a"},"spec":{"volumeName":"pv",)"
      R"("storageClassName":"","accessModes":["ReadWriteMany"],"resources":{"requests":{"storage":"1Gi"}},)"
      R"("selector":{"matchLabels":{"a":"b"}},"volumeMode":"Filesystem","volumeAttributesClassName":"gold"},)"
      R"("status":{"phase":"Pending"}})");
  ExpectUnchanged<StorageClass>(
      R"({"kind":"StorageClass","apiVersion":"storage.k8s.io/v1","metadata":{"name":"fast"},"provisioner":"p",)"
      R"("volumeBindingMode":"WaitForFirstConsumer","allowedTopologies":[{"matchLabelExpressions":[)"
      R"({"key":"zone","values":["a"]}]},{}]})");
  ExpectUnchanged<CSINode>(
      R"({"kind":"CSINode","apiVersion":"storage.k8s.io/v1","metadata":{"name":"n"},"spec":{"drivers":[)"
      R"({"name":"d","allocatable":{"count":0}},{"name":"e"}]}})");
  ExpectUnchanged<CSIDriver>(
      R"({"kind":"CSIDriver","apiVersion":"storage.k8s.io/v1","metadata":{"name":"d"},"spec":{"storageCapacity":true,)"
      R"("preventPodSchedulingIfMissing":true}})");
  ExpectUnchanged<CSIStorageCapacity>(
      R"({"kind":"CSIStorageCapacity","apiVersion":"storage.k8s.io/v1","metadata":{"name":"c","namespace":"a"},)"
      R"("storageClassName":"fast","nodeTopology":{},"capacity":"0","maximumVolumeSize":"1Ti"})");
  ExpectUnchanged<VolumeAttachment>(
      R"({"kind":"VolumeAttachment","apiVersion":"storage.k8s.io/v1","metadata":{"name":"v"},"spec":{"attacher":"d",)"
      R"("nodeName":"n","source":{"persistentVolumeName":"pv"}}})");
}

TEST(AppendJson, WritesEveryMemberOfWorkloadKinds) {
  ExpectUnchanged<Namespace>(
      R"({"kind":"Namespace","apiVersion":"v1","metadata":{"name":"a","labels":{"team":"x"}}})");
  ExpectUnchanged<Service>(
      R"({"kind":"Service","apiVersion":"v1","metadata":{"name":"s","namespace":"a"},"spec":{"selector":{"app":"web"}}})");
  ExpectUnchanged<ReplicationController>(
      R"({"kind":"ReplicationController","apiVersion":"v1","metadata":{"name":"s","namespace":"a"},)"
      R"("spec":{"selector":{"app":"web"}}})");
  ExpectUnchanged<ReplicaSet>(
      R"({"kind":"ReplicaSet","apiVersion":"apps/v1","metadata":{"name":"s","namespace":"a"},"spec":{"selector":{}}})");
  ExpectUnchanged<StatefulSet>(
      R"({"kind":"StatefulSet","apiVersion":"apps/v1","metadata":{"name":"s","namespace":"a"},)"
      R"("spec":{"selector":{"matchLabels":{"app":"db"}}}})");
  ExpectUnchanged<PodDisruptionBudget>(
      R"({"kind":"PodDisruptionBudget","apiVersion":"policy/v1","metadata":{"name":"b","namespace":"a"},)"
      R"("spec":{"selector":{"matchLabels":{"app":"db"}}},"status":{"disruptionsAllowed":2,)"
      R"("disruptedPods":{"p":"1970-01-01T00:00:00Z"}}})");
}

TEST(AppendJson, WritesEveryMemberOfDeviceKinds) {
  ExpectUnchanged<DeviceClass>(
      R"({"kind":"DeviceClass","apiVersion":"resource.k8s.io/v1","metadata":{"name":"gpu",)"
      R"("creationTimestamp":"2026-01-02T03:04:05Z"},"spec":{"selectors":[{"cel":{"expression":"true"}},{}],)"
      R"("config":[{"opaque":{"driver":"d","parameters":{"a":[1,2]}}},{}],"extendedResourceName":"example.com/gpu"}})");
  ExpectUnchanged<ResourceClaim>(
      R"({"kind":"ResourceClaim","apiVersion":"resource.k8s.io/v1","metadata":{"name":"c","namespace":"a",)"
      R"("annotations":{"resource.kubernetes.io/extended-resource-claim":"true"},)"
      R"("finalizers":["resource.kubernetes.io/delete-protection"]},"spec":{"devices":{"requests":[{"name":"r",)"
      R"("exactly":{"deviceClassName":"gpu","selectors":[{"cel":{"expression":"x"}}],"allocationMode":"ExactCount","count":2,)"
      R"("adminAccess":false,"tolerations":[{"key":"k","operator":"Exists","value":"v","effect":"NoSchedule",)"
      R"("tolerationSeconds":5}],"capacity":{"requests":{"memory":"1Gi"}},"derivedAttributes":[{}]}},)"
      R"({"name":"s","firstAvailable":[{"name":"big","deviceClassName":"gpu","allocationMode":"All","capacity":{}}]},)"
      R"({"name":"unknown"}],"constraints":[{"requests":["r"],"matchAttribute":"d/numa"},{"distinctAttribute":"d/id"}],)"
      R"("config":[{"requests":["r"],"opaque":{"driver":"d"}}]}},)"
      R"("status":{"allocation":{"devices":{"results":[{"request":"r","driver":"d","pool":"p","device":"gpu-0",)"
      R"("adminAccess":true,"tolerations":[{"operator":"Exists"}],"bindingConditions":["A"],"bindingFailureConditions":["B"],)"
      R"("shareID":"s","consumedCapacity":{"memory":"1Gi"}}],"config":[{"source":"FromClass","requests":["r"],)"
      R"("opaque":{"driver":"d"}}]},"nodeSelector":{"nodeSelectorTerms":[{}]},"allocationTimestamp":"2026-01-02T03:04:05Z"},)"
      R"("reservedFor":[{"apiGroup":"g","resource":"pods","name":"p","uid":"u"}],)"
      R"("devices":[{"driver":"d","pool":"p","device":"gpu-0","conditions":[{"type":"A","status":"True","reason":"r",)"
      R"("message":"m"}]}]}})");
  ExpectUnchanged<ResourceSlice>(
      R"({"kind":"ResourceSlice","apiVersion":"resource.k8s.io/v1","metadata":{"name":"s"},"spec":{"driver":"d",)"
      R"("pool":{"name":"p","generation":2,"resourceSliceCount":3},"nodeName":"n","nodeSelector":{"nodeSelectorTerms":[{}]},)"
      R"("allNodes":true,"perDeviceNodeSelection":true,"devices":[{"name":"gpu-0","attributes":{"a":{"int":-1},"b":{"bool":false},)"
      R"("c":{"string":""},"d":{"version":"1.2.3"},"e":{}},"capacity":{"memory":{"value":"80Gi","requestPolicy":{"default":"1Gi",)"
      R"("validValues":["1Gi","2Gi"],"validRange":{"min":"1","max":"8","step":"2"}}}},)"
      R"("consumesCounters":[{"counterSet":"cs","counters":{"slots":{"value":"1"}},"compatibilityGroups":[""]}],)"
      R"("nodeName":"n","nodeSelector":{"nodeSelectorTerms":[{}]},"allNodes":true,"taints":[{"key":"k","value":"v","effect":"NoSchedule"}],)"
      R"("bindsToNode":true,"bindingConditions":["A"],"bindingFailureConditions":["B"],"allowMultipleAllocations":true}],)"
      R"("sharedCounters":[{"name":"cs","counters":{"slots":{"value":"7"}}}]}})");
  ExpectUnchanged<DeviceTaintRule>(
      R"({"kind":"DeviceTaintRule","apiVersion":"resource.k8s.io/v1beta2","metadata":{"name":"t"},"spec":{"deviceSelector":)"
      R"({"driver":"d","pool":"p","device":"x"},"taint":{"key":"k","value":"v","effect":"NoExecute"}}})");
}

TEST(AppendJson, WritesEveryMemberOfPodGroups) {
  ExpectUnchanged<PodGroup>(
      R"({"kind":"PodGroup","apiVersion":"scheduling.k8s.io/v1beta1","metadata":{"name":"g","namespace":"a",)"
      R"("creationTimestamp":"2026-01-02T03:04:05Z"},"spec":{"schedulingPolicy":{"gang":{"minCount":0}},"priority":7,)"
      R"("preemptionPolicy":"Never","disruptionMode":{"all":{}},"schedulingConstraints":{"topology":[{"key":"rack"}]},)"
      R"("parentCompositePodGroupName":"top","resourceClaims":[{"name":"c","resourceClaimTemplateName":"t"}]},)"
      R"("status":{"conditions":[{"type":"PodGroupScheduled","status":"False","reason":"r","message":"m","observedGeneration":1}],)"
      R"("resourceClaimStatuses":[{"name":"c","resourceClaimName":"c-1"}]}})");
  ExpectUnchanged<CompositePodGroup>(
      R"({"kind":"CompositePodGroup","apiVersion":"scheduling.k8s.io/v1alpha3","metadata":{"name":"top","namespace":"a"},)"
      R"("spec":{"schedulingPolicy":{"gang":{"minGroupCount":2}}}})");
  ExpectUnchanged<PodGroup>(
      R"({"kind":"PodGroup","apiVersion":"scheduling.k8s.io/v1beta1","metadata":{"name":"g","namespace":"a"}})");
}

TEST(AppendJson, WritesEveryMemberOfElasticQuotas) {
  ExpectUnchanged<ElasticQuota>(
      R"({"kind":"ElasticQuota","apiVersion":"scheduling.x-k8s.io/v1alpha1","metadata":{"name":"q","namespace":"a"},)"
      R"("spec":{"min":{"cpu":"4"},"max":{}}})");
  ExpectUnchanged<ElasticQuota>(
      R"({"kind":"ElasticQuota","apiVersion":"scheduling.x-k8s.io/v1alpha1","metadata":{"name":"q","namespace":"a"}})");
}

TEST(AppendJson, WritesEveryMemberOfNodeResourceTopologies) {
  ExpectUnchanged<NodeResourceTopology>(
      R"({"kind":"NodeResourceTopology","apiVersion":"topology.node.k8s.io/v1alpha2","metadata":{"name":"n"},)"
      R"("topologyPolicies":["None"],"attributes":[{"name":"a","value":"b"}],)"
      R"("zones":[{"name":"node-0","type":"Node","costs":[{"name":"node-0","value":10}],)"
      R"("resources":[{"name":"cpu","available":"3"}]}]})");
}

TEST(AppendJson, WritesEveryMemberOfPriorityClasses) {
  ExpectUnchanged<PriorityClass>(
      R"({"kind":"PriorityClass","apiVersion":"scheduling.k8s.io/v1","metadata":{"name":"c","annotations":{)"
      R"("preemption-toleration.scheduling.x-k8s.io/minimum-preemptable-priority":"100",)"
      R"("preemption-toleration.scheduling.x-k8s.io/toleration-seconds":"60"}},"value":5})");
}

TEST(AppendJson, WritesThePriorityClassAndTheTimeOfTheBindingOfAPod) {
  ExpectUnchanged<Pod>(
      R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"nodeName":"n",)"
      R"("priorityClassName":"c","priority":5},"status":{"conditions":[{"type":"PodScheduled","status":"True",)"
      R"("lastTransitionTime":"2026-01-02T03:04:05Z"}]}})");
}

}  // namespace
}  // namespace berth::api
