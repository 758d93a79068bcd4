#include "scheduler/cycle/cluster_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/builders.hpp"

namespace berth::cycle {
namespace {

using berth::testing::MakeNode;
using berth::testing::MakePod;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Labels(const std::vector<framework::ClusterEvent>& events) {
  std::vector<std::string> labels;
  for (const auto& event : events) labels.emplace_back(event.label);
  return labels;
}

// The labels of the events for adding, updating and deleting an object of this kind.
template <class T>
std::vector<std::string> LabelsOf() {
  const auto object = std::make_shared<const T>();
  std::vector<std::string> labels;
  for (const auto& change : {ports::Change<T>{nullptr, object}, {object, object}, {object, nullptr}}) {
    if (const auto event = EventOf(change)) labels.emplace_back(event->label);
  }
  return labels;
}

TEST(EventOf, EventsHaveTheLabelsOfKubeScheduler) {
  EXPECT_THAT(LabelsOf<api::PersistentVolume>(),
              ElementsAre("PersistentVolumeAdd", "PersistentVolumeUpdate", "PersistentVolumeDelete"));
  EXPECT_THAT(
      LabelsOf<api::PersistentVolumeClaim>(),
      ElementsAre("PersistentVolumeClaimAdd", "PersistentVolumeClaimUpdate", "PersistentVolumeClaimDelete"));
  EXPECT_THAT(LabelsOf<api::CSINode>(),
              ElementsAre("storage.k8s.io/CSINodeAdd", "storage.k8s.io/CSINodeUpdate",
                          "storage.k8s.io/CSINodeDelete"));
  EXPECT_THAT(LabelsOf<api::ResourceClaim>(),
              ElementsAre("resource.k8s.io/ResourceClaimAdd", "resource.k8s.io/ResourceClaimUpdate",
                          "resource.k8s.io/ResourceClaimDelete"));
}

TEST(EventOf, KindsWithoutRegistrationsHaveNoEvent) {
  EXPECT_THAT(LabelsOf<api::Namespace>(), IsEmpty());
  EXPECT_THAT(LabelsOf<api::Service>(), IsEmpty());
  EXPECT_THAT(LabelsOf<api::PodDisruptionBudget>(), IsEmpty());
}

TEST(EventOf, ADeviceTaintRuleCountsAsAnUpdateOfSlices) {
  const auto rule = std::make_shared<const api::DeviceTaintRule>();
  const auto event = EventOf<api::DeviceTaintRule>({nullptr, rule});
  ASSERT_TRUE(event);
  EXPECT_EQ(event->resource, framework::EventResource::kResourceSlice);
  EXPECT_EQ(event->action, framework::kUpdate);
}

TEST(EventOf, ActionsMatchTheirRegistrations) {
  const auto claim = std::make_shared<const api::PersistentVolumeClaim>();
  const framework::ClusterEvent wants{framework::EventResource::kPersistentVolumeClaim,
                                      framework::kAdd | framework::kUpdate};
  EXPECT_TRUE(wants.Matches(*EventOf<api::PersistentVolumeClaim>({nullptr, claim})));
  EXPECT_TRUE(wants.Matches(*EventOf<api::PersistentVolumeClaim>({claim, claim})));
  EXPECT_FALSE(wants.Matches(*EventOf<api::PersistentVolumeClaim>({claim, nullptr})));
}

TEST(NodeEvents, IncludeAnnotationsAndDeclaredFeatures) {
  api::Node before = MakeNode("n");
  api::Node after = before;
  EXPECT_THAT(NodeEvents(before, after), IsEmpty());
  after.annotations_digest = 1;
  after.declared_features = {"F"};
  EXPECT_THAT(Labels(NodeEvents(before, after)),
              ElementsAre("NodeUpdateNodeAnnotation", "NodeUpdateNodeDeclaredFeature"));
}

TEST(PodEvents, IncludeGeneratedClaims) {
  api::Pod before = MakePod("p");
  api::Pod after = before;
  after.status.resource_claim_statuses.push_back({"a", "a-1"});
  EXPECT_THAT(Labels(PodEvents(before, after, framework::EventResource::kTargetPod)),
              ElementsAre("TargetPodUpdatePodGeneratedResourceClaim"));
  api::Pod extended = before;
  extended.status.extended_resource_claim.emplace().resource_claim_name = "x";
  EXPECT_THAT(Labels(PodEvents(before, extended, framework::EventResource::kAssignedPod)),
              ElementsAre("AssignedPodUpdatePodGeneratedResourceClaim"));
}

}  // namespace
}  // namespace berth::cycle
