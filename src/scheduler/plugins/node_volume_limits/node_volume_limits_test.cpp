#include "scheduler/plugins/node_volume_limits/node_volume_limits.hpp"

#include <gtest/gtest.h>

#include "testing/cluster.hpp"
#include "testing/storage.hpp"

namespace berth::plugins {
namespace {

using berth::testing::ClaimVolume;
using berth::testing::Cluster;
using berth::testing::DiskVolume;
using berth::testing::EphemeralVolume;
using berth::testing::Fits;
using berth::testing::MakeAttachment;
using berth::testing::MakeClaim;
using berth::testing::MakeClass;
using berth::testing::MakeCsiNode;
using berth::testing::MakeNode;
using berth::testing::MakeVolume;
using berth::testing::PodBuilder;
using berth::testing::PodWith;
using berth::testing::Unresolvable;
using berth::testing::Unschedulable;
using berth::testing::Verdict;

const auto kExceeded = Unschedulable({"node(s) exceed max volume count"});
const char* const kDriver = "csi.example.com";

// A node "n" with a limit of three volumes, and bound claims a, b, c, d, x.
class LimitsTest : public ::testing::Test {
 protected:
  LimitsTest() {
    cluster.Add(MakeNode("n")).Put(MakeClass()).Put(MakeCsiNode("n", {{kDriver, 3}}));
    for (const std::string name : {"a", "b", "c", "d", "x"}) {
      cluster.Put<api::PersistentVolume>(MakeVolume("pv-" + name));
      cluster.Put<api::PersistentVolumeClaim>(MakeClaim(name).BoundTo("pv-" + name));
    }
    plugin = cluster.Make<NodeVolumeLimits>();
  }
  void Use(const std::string& pod, std::initializer_list<const char*> claims) {
    cluster.Run("n", With(pod, claims));
  }
  static PodBuilder With(const std::string& pod, std::initializer_list<const char*> claims) {
    PodBuilder builder = PodWith(pod, {});
    for (const char* claim : claims) WithVolume(builder, ClaimVolume(claim));
    return builder;
  }
  Verdict VerdictOf(std::initializer_list<const char*> claims) { return VerdictOf(With("incoming", claims)); }
  Verdict VerdictOf(const PodBuilder& pod) { return cluster.Filter(*plugin, pod).at("n"); }

  Cluster cluster;
  std::unique_ptr<NodeVolumeLimits> plugin;
};

TEST_F(LimitsTest, VolumesOnTheNodeCountOnce) {
  EXPECT_TRUE(cluster.PreFilter(*plugin, PodWith("none", {})).status.skip());
  Use("p", {"a", "b"});
  Use("q", {"a"});
  EXPECT_EQ(VerdictOf({"b", "c"}), Fits());
  EXPECT_EQ(VerdictOf({"c", "d"}), kExceeded);
  EXPECT_EQ(VerdictOf({"a", "b"}), Fits());
}

TEST_F(LimitsTest, AVolumeThatThePodNamesTwiceCountsOnce) {
  EXPECT_EQ(VerdictOf({"a", "b", "a", "c", "b"}), Fits());
  EXPECT_EQ(VerdictOf({"a", "b", "a", "c", "d"}), kExceeded);
}

TEST_F(LimitsTest, AttachedVolumesCountOnceWithPodsThatUseThem) {
  Use("p", {"a", "b"});
  cluster.Put(MakeAttachment("va-a", "n", "pv-a"));
  EXPECT_EQ(VerdictOf({"c"}), Fits());
  cluster.Put(MakeAttachment("va-x", "n", "pv-x"));
  EXPECT_EQ(VerdictOf({"c"}), kExceeded);
  EXPECT_EQ(VerdictOf({"b"}), Fits()) << "nothing new";
  EXPECT_EQ(VerdictOf({"x"}), kExceeded) << "counted as attached and as new";
}

TEST_F(LimitsTest, EachOfManyNodesHasItsLimit) {
  constexpr std::int32_t kNodes = 70;
  const auto name_of = [](std::int32_t i) { return "m" + std::to_string(i); };
  for (std::int32_t i = 0; i < kNodes; ++i)
    cluster.Add(MakeNode(name_of(i))).Put(MakeCsiNode(name_of(i), {{kDriver, i % 4}}));
  cluster.Run("m2", With("p", {"a", "b"}));
  cluster.Run("m6", With("q", {"c"}));
  const auto verdicts = cluster.Filter(*plugin, With("incoming", {"a", "b"}));
  EXPECT_EQ(verdicts.at("n"), Fits());
  for (std::int32_t i = 0; i < kNodes; ++i)
    EXPECT_EQ(verdicts.at(name_of(i)), i % 4 < 2 || i == 6 ? kExceeded : Fits()) << i;
}

TEST_F(LimitsTest, ANodeWithoutLimitAcceptsAllVolumes) {
  cluster.Put(MakeCsiNode("n", {{kDriver, std::nullopt}}));
  Use("p", {"a", "b"});
  EXPECT_EQ(VerdictOf({"c", "d", "x"}), Fits());
  cluster.Put(MakeCsiNode("n", {{kDriver, 0}}));
  EXPECT_EQ(VerdictOf({"c"}), kExceeded);
  EXPECT_EQ(VerdictOf({"a"}), Fits());
  cluster.Put(MakeCsiNode("n", {{"other", 0}}));
  EXPECT_EQ(VerdictOf({"c"}), Fits());
}

TEST_F(LimitsTest, ClaimsWithoutVolumeCountForTheirProvisioner) {
  cluster.Put<api::PersistentVolumeClaim>(MakeClaim("new"));
  cluster.Put<api::PersistentVolumeClaim>(MakeClaim("classless").Class(""));
  cluster.Put<api::PersistentVolumeClaim>(MakeClaim("lost").BoundTo("gone"));
  Use("p", {"a", "b", "c"});
  EXPECT_EQ(VerdictOf({"new"}), kExceeded);
  EXPECT_EQ(VerdictOf({"lost"}), kExceeded);
  EXPECT_EQ(VerdictOf({"classless"}), Fits());
}

TEST_F(LimitsTest, AVolumeBoundLaterIsCountedByItsHandle) {
  cluster.Put<api::PersistentVolumeClaim>(MakeClaim("new"));
  cluster.Put(MakeCsiNode("n", {{kDriver, 1}}));
  Use("p", {"new"});
  EXPECT_EQ(VerdictOf({"a"}), kExceeded);
  cluster.Put<api::PersistentVolumeClaim>(MakeClaim("new").BoundTo("pv-a"));
  EXPECT_EQ(VerdictOf({"a"}), Fits());
}

TEST_F(LimitsTest, InTreeVolumesCountForTheMigratedDriver) {
  cluster.Put(MakeCsiNode("n", {{"ebs.csi.aws.com", 1}}));
  const auto disk = [](const char* id) { return DiskVolume(api::Volume::Source::kAwsElasticBlockStore, id); };
  cluster.Run("n", PodWith("p", {disk("vol-1")}));
  EXPECT_EQ(VerdictOf(PodWith("incoming", {disk("aws://zone/vol-1")})), Fits());
  EXPECT_EQ(VerdictOf(PodWith("incoming", {disk("vol-2")})), kExceeded);
  EXPECT_EQ(
      VerdictOf(PodWith("incoming", {disk("aws://bad")})),
      (Verdict{
          framework::Code::kError,
          {"converting volume(disk) from inline to csi: failed to translate Kubernetes ID to EBS Volume ID "
           "Invalid format for AWS volume (aws://bad)"}}));
}

TEST_F(LimitsTest, MissingClaims) {
  EXPECT_EQ(VerdictOf({"none"}),
            Unresolvable({"looking up PVC default/none: persistentvolumeclaim \"none\" not found"}));
  EXPECT_EQ(VerdictOf({""}), (Verdict{framework::Code::kError, {"PersistentVolumeClaim had no name"}}));
  cluster.Put<api::PersistentVolumeClaim>(MakeClaim("incoming-e"));
  EXPECT_EQ(
      VerdictOf(PodWith("incoming", {EphemeralVolume("e")})),
      (Verdict{framework::Code::kError,
               {"PVC default/incoming-e was not created for pod default/incoming (pod is not owner)"}}));
  cluster.Put<api::PersistentVolumeClaim>(MakeClaim("incoming-e").OwnedBy("me"));
  EXPECT_EQ(VerdictOf(PodWith("incoming", {EphemeralVolume("e")}).Uid("me")), Fits());
}

TEST_F(LimitsTest, APodWithInvalidVolumesOnTheNodeIsAnError) {
  Use("p", {""});
  EXPECT_EQ(VerdictOf({"a"}), (Verdict{framework::Code::kError, {"PersistentVolumeClaim had no name"}}));
  cluster.Put(MakeCsiNode("n", {{kDriver, std::nullopt}}));
  EXPECT_EQ(VerdictOf({"a"}), Fits()) << "nothing is counted without a limit";
}

TEST_F(LimitsTest, ARequiredDriver) {
  api::CSIDriver driver;
  driver.metadata.name = kDriver;
  cluster.Put(driver).Add(MakeNode("bare"));
  EXPECT_EQ(cluster.Filter(*plugin, With("incoming", {"a"})).at("bare"), Fits());
  driver.prevent_pod_scheduling_if_missing = true;
  cluster.Put(driver);
  const auto verdicts = cluster.Filter(*plugin, With("incoming", {"a"}));
  EXPECT_EQ(verdicts.at("bare"), Unschedulable({"csi.example.com CSI driver is not installed on the node"}));
  EXPECT_EQ(verdicts.at("n"), Fits());
}

}  // namespace
}  // namespace berth::plugins
