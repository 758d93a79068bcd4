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

TEST(ObjectSizeTest, EverythingInAPodThatCanBeLongCounts) {
  const struct {
    const char* what;
    void (*enlarge)(api::Pod& pod);
  } rows[] = {
      {"labels",
       [](api::Pod& pod) {
         for (std::size_t i = 0; i < kMany; ++i) pod.metadata.labels.Set("key-" + std::to_string(i), "v");
       }},
      {"volumes", [](api::Pod& pod) { pod.spec.volumes = std::vector<api::Volume>(kMany); }},
      {"containers", [](api::Pod& pod) { pod.spec.containers = std::vector<api::Container>(kMany); }},
      {"ports",
       [](api::Pod& pod) {
         api::Container container;
         container.ports.resize(kMany);
         pod.spec.init_containers = {container};
       }},
      {"requests",
       [](api::Pod& pod) {
         api::Container container;
         for (std::size_t i = 0; i < kMany; ++i)
           container.resources.requests.try_emplace("example.com/" + std::to_string(i), api::Quantity());
         pod.spec.containers = {container};
       }},
      {"tolerations", [](api::Pod& pod) { pod.spec.tolerations = std::vector<api::Toleration>(kMany); }},
      {"claims", [](api::Pod& pod) { pod.spec.resource_claims = std::vector<api::PodResourceClaim>(kMany); }},
      {"spread constraints",
       [](api::Pod& pod) {
         pod.spec.topology_spread_constraints = std::vector<api::TopologySpreadConstraint>(kMany);
       }},
      {"affinity terms", [](api::Pod& pod) { pod.spec.pod_anti_affinity.emplace().required.resize(kMany); }},
      {"values of an affinity term",
       [](api::Pod& pod) {
         api::PodAffinityTerm term;
         term.label_selector.emplace().match_expressions.resize(1);
         term.label_selector->match_expressions[0].values.resize(kMany);
         pod.spec.pod_affinity.emplace().preferred = {{1, term}};
       }},
      {"node selector terms",
       [](api::Pod& pod) { pod.spec.node_affinity.emplace().required.emplace().terms.resize(kMany); }},
      {"monitors of a volume",
       [](api::Pod& pod) {
         api::Volume volume;
         volume.rbd.emplace().monitors.resize(kMany);
         pod.spec.volumes = {volume};
       }},
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
      {"containers", [](api::Pod& pod) { pod.spec.containers = std::vector<api::Container>(kMany); }, 0},
  };
  for (const auto& row : rows) {
    api::Pod pod;
    row.enlarge(pod);
    const ObjectSize size = SizeOfPod(pod);
    EXPECT_LE(StoredBytes(kOther, size), size.bytes + 1000) << row.what;
    EXPECT_GE(StoredBytes(kDeleted, size), size.bytes + kMany * row.computed) << row.what;
    if (row.computed > 0) continue;
    EXPECT_LE(StoredBytes(kDeleted, size), size.bytes + 1000) << row.what;
  }
}

TEST(ObjectSizeTest, TextsOfDevicesCount) {
  api::Device device;
  device.attributes["driver.example.org/model"].value = kLongText;
  device.attributes["driver.example.org/version"].value = api::DeviceAttribute::Version{kLongText};
  const auto slice = std::make_shared<api::ResourceSlice>();
  slice->devices = {device, device};
  EXPECT_GE(SizeOfNew(EventResource::kResourceSlice, slice).bytes, 4 * kLongText.size());
}

TEST(ObjectSizeTest, ObjectsOfAllKindsCount) {
  const auto with_labels = [](auto object) {
    for (std::size_t i = 0; i < kMany; ++i) object.metadata.labels.Set("key-" + std::to_string(i), "v");
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
