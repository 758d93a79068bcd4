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
  Verdict Ask(std::initializer_list<const char*> claims) { return Ask(With("wants", claims)); }
  Verdict Ask(const PodBuilder& pod) { return cluster.Filter(*plugin, pod).at("n"); }

  Cluster cluster;
  std::unique_ptr<NodeVolumeLimits> plugin;
};

TEST_F(LimitsTest, VolumesOnTheNodeCountOnce) {
  EXPECT_TRUE(cluster.PreFilter(*plugin, PodWith("none", {})).status.skip());
  Use("p", {"a", "b"});
  Use("q", {"a"});
  EXPECT_EQ(Ask({"b", "c"}), Fits());
  EXPECT_EQ(Ask({"c", "d"}), kExceeded);
  EXPECT_EQ(Ask({"a", "b"}), Fits());
}

TEST_F(LimitsTest, AttachedVolumesCountOnceWithPodsThatUseThem) {
  Use("p", {"a", "b"});
  cluster.Put(MakeAttachment("va-a", "n", "pv-a"));
  EXPECT_EQ(Ask({"c"}), Fits());
  cluster.Put(MakeAttachment("va-x", "n", "pv-x"));
  EXPECT_EQ(Ask({"c"}), kExceeded);
  EXPECT_EQ(Ask({"b"}), Fits()) << "nothing new";
  EXPECT_EQ(Ask({"x"}), kExceeded) << "counted as attached and as new";
}

TEST_F(LimitsTest, ANodeWithoutLimitAcceptsAllVolumes) {
  cluster.Put(MakeCsiNode("n", {{kDriver, std::nullopt}}));
  Use("p", {"a", "b"});
  EXPECT_EQ(Ask({"c", "d", "x"}), Fits());
  cluster.Put(MakeCsiNode("n", {{kDriver, 0}}));
  EXPECT_EQ(Ask({"c"}), kExceeded);
  EXPECT_EQ(Ask({"a"}), Fits());
  cluster.Put(MakeCsiNode("n", {{"other", 0}}));
  EXPECT_EQ(Ask({"c"}), Fits());
}

TEST_F(LimitsTest, ClaimsWithoutVolumeCountForTheirProvisioner) {
  cluster.Put<api::PersistentVolumeClaim>(MakeClaim("new"));
  cluster.Put<api::PersistentVolumeClaim>(MakeClaim("classless").Class(""));
  cluster.Put<api::PersistentVolumeClaim>(MakeClaim("lost").BoundTo("gone"));
  Use("p", {"a", "b", "c"});
  EXPECT_EQ(Ask({"new"}), kExceeded);
  EXPECT_EQ(Ask({"lost"}), kExceeded);
  EXPECT_EQ(Ask({"classless"}), Fits());
}

TEST_F(LimitsTest, AVolumeBoundLaterIsCountedByItsHandle) {
  cluster.Put<api::PersistentVolumeClaim>(MakeClaim("new"));
  cluster.Put(MakeCsiNode("n", {{kDriver, 1}}));
  Use("p", {"new"});
  EXPECT_EQ(Ask({"a"}), kExceeded);
  cluster.Put<api::PersistentVolumeClaim>(MakeClaim("new").BoundTo("pv-a"));
  EXPECT_EQ(Ask({"a"}), Fits());
}

TEST_F(LimitsTest, InTreeVolumesCountForTheMigratedDriver) {
  cluster.Put(MakeCsiNode("n", {{"ebs.csi.aws.com", 1}}));
  const auto disk = [](const char* id) { return DiskVolume(api::Volume::Source::kAwsElasticBlockStore, id); };
  cluster.Run("n", PodWith("p", {disk("vol-1")}));
  EXPECT_EQ(Ask(PodWith("wants", {disk("aws://zone/vol-1")})), Fits());
  EXPECT_EQ(Ask(PodWith("wants", {disk("vol-2")})), kExceeded);
  EXPECT_EQ(
      Ask(PodWith("wants", {disk("aws://bad")})),
      (Verdict{
          framework::Code::kError,
          {"converting volume(disk) from inline to csi: failed to translate Kubernetes ID to EBS Volume ID "
           "Invalid format for AWS volume (aws://bad)"}}));
}

TEST_F(LimitsTest, MissingClaims) {
  EXPECT_EQ(Ask({"none"}),
            Unresolvable({"looking up PVC default/none: persistentvolumeclaim \"none\" not found"}));
  EXPECT_EQ(Ask({""}), (Verdict{framework::Code::kError, {"PersistentVolumeClaim had no name"}}));
  cluster.Put<api::PersistentVolumeClaim>(MakeClaim("wants-e"));
  EXPECT_EQ(Ask(PodWith("wants", {EphemeralVolume("e")})),
            (Verdict{framework::Code::kError,
                     {"PVC default/wants-e was not created for pod default/wants (pod is not owner)"}}));
  cluster.Put<api::PersistentVolumeClaim>(MakeClaim("wants-e").OwnedBy("me"));
  EXPECT_EQ(Ask(PodWith("wants", {EphemeralVolume("e")}).Uid("me")), Fits());
}

TEST_F(LimitsTest, APodWithInvalidVolumesOnTheNodeIsAnError) {
  Use("p", {""});
  EXPECT_EQ(Ask({"a"}), (Verdict{framework::Code::kError, {"PersistentVolumeClaim had no name"}}));
  cluster.Put(MakeCsiNode("n", {{kDriver, std::nullopt}}));
  EXPECT_EQ(Ask({"a"}), Fits()) << "nothing is counted without a limit";
}

TEST_F(LimitsTest, ARequiredDriver) {
  api::CSIDriver driver;
  driver.metadata.name = kDriver;
  cluster.Put(driver).Add(MakeNode("bare"));
  EXPECT_EQ(cluster.Filter(*plugin, With("wants", {"a"})).at("bare"), Fits());
  driver.prevent_pod_scheduling_if_missing = true;
  cluster.Put(driver);
  const auto verdicts = cluster.Filter(*plugin, With("wants", {"a"}));
  EXPECT_EQ(verdicts.at("bare"), Unschedulable({"csi.example.com CSI driver is not installed on the node"}));
  EXPECT_EQ(verdicts.at("n"), Fits());
}

}  // namespace
}  // namespace berth::plugins
