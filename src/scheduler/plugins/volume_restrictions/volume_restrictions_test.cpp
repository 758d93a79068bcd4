#include "scheduler/plugins/volume_restrictions/volume_restrictions.hpp"

#include <gtest/gtest.h>

#include "testing/cluster.hpp"
#include "testing/storage.hpp"

namespace berth::plugins {
namespace {

using berth::testing::ClaimVolume;
using berth::testing::Cluster;
using berth::testing::DiskVolume;
using berth::testing::Fits;
using berth::testing::MakeClaim;
using berth::testing::MakeNode;
using berth::testing::PodWith;
using berth::testing::Unschedulable;
using Source = api::Volume::Source;

const char* const kDisk = "node(s) had no available disk";
const char* const kSole =
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by "
    "another "
    "pod";

api::Volume Rbd(std::vector<std::string> monitors, std::string pool, std::string image,
                bool read_only = false) {
  api::Volume volume = DiskVolume(Source::kRbd, std::move(image), read_only);
  volume.rbd = api::Volume::Rbd{std::move(pool), std::move(monitors)};
  return volume;
}

TEST(VolumeRestrictions, DisksAreSharedOnlyByReaders) {
  const struct {
    const char* what;
    api::Volume held, wanted;
    bool conflict;
  } rows[] = {
      {"a GCE disk twice", DiskVolume(Source::kGcePersistentDisk, "d"),
       DiskVolume(Source::kGcePersistentDisk, "d"), true},
      {"a GCE disk read by one", DiskVolume(Source::kGcePersistentDisk, "d", true),
       DiskVolume(Source::kGcePersistentDisk, "d"), true},
      {"a GCE disk read by both", DiskVolume(Source::kGcePersistentDisk, "d", true),
       DiskVolume(Source::kGcePersistentDisk, "d", true), false},
      {"two GCE disks", DiskVolume(Source::kGcePersistentDisk, "d"),
       DiskVolume(Source::kGcePersistentDisk, "e"), false},
      {"an EBS volume read by both", DiskVolume(Source::kAwsElasticBlockStore, "v", true),
       DiskVolume(Source::kAwsElasticBlockStore, "v", true), true},
      {"iSCSI of one name", DiskVolume(Source::kIscsi, "iqn"), DiskVolume(Source::kIscsi, "iqn", true), true},
      {"other kinds of one name", DiskVolume(Source::kIscsi, "x"),
       DiskVolume(Source::kGcePersistentDisk, "x"), false},
      {"RBD with a common monitor", Rbd({"a", "b"}, "p", "i"), Rbd({"c", "b"}, "p", "i"), true},
      {"RBD without", Rbd({"a"}, "p", "i"), Rbd({"c"}, "p", "i"), false},
      {"RBD of another pool", Rbd({"a"}, "p", "i"), Rbd({"a"}, "q", "i"), false},
      {"RBD read by both", Rbd({"a"}, "p", "i", true), Rbd({"a"}, "p", "i", true), false},
  };
  for (const auto& row : rows) {
    Cluster cluster;
    cluster.Add(MakeNode("busy")).Add(MakeNode("free"));
    const auto plugin = cluster.Make<VolumeRestrictions>();
    cluster.Run("busy", PodWith("there", {row.held}).Namespace("elsewhere"));
    const auto incoming = PodWith("incoming", {row.wanted});
    EXPECT_TRUE(cluster.PreFilter(*plugin, incoming).status.ok()) << row.what;
    const auto verdicts = cluster.Filter(*plugin, incoming);
    EXPECT_EQ(verdicts.at("busy"), row.conflict ? Unschedulable({kDisk}) : Fits()) << row.what;
    EXPECT_EQ(verdicts.at("free"), Fits()) << row.what;
  }
}

class SoleClaimTest : public ::testing::Test {
 protected:
  SoleClaimTest() {
    cluster.Add(MakeNode("a")).Add(MakeNode("b"));
    cluster.Put<api::PersistentVolumeClaim>(MakeClaim("sole").Modes({"ReadWriteOncePod"}));
    cluster.Put<api::PersistentVolumeClaim>(MakeClaim("shared"));
    plugin = cluster.Make<VolumeRestrictions>();
  }
  Cluster cluster;
  std::unique_ptr<VolumeRestrictions> plugin;
};

TEST_F(SoleClaimTest, AReadWriteOncePodClaimInUseRejectsAllNodes) {
  const auto incoming = PodWith("incoming", {ClaimVolume("sole")});
  EXPECT_TRUE(cluster.PreFilter(*plugin, incoming).status.skip()) << "the claim is not in use";
  cluster.Run("a", PodWith("user", {ClaimVolume("sole")}));
  EXPECT_TRUE(cluster.PreFilter(*plugin, incoming).status.ok());
  EXPECT_EQ(cluster.Filter(*plugin, incoming).at("b"), Unschedulable({kSole}));
  EXPECT_TRUE(cluster.PreFilter(*plugin, PodWith("other", {ClaimVolume("shared")})).status.skip());
  EXPECT_EQ(cluster.PreFilter(*plugin, PodWith("lost", {ClaimVolume("none")})).status.Message(),
            "persistentvolumeclaim \"none\" not found");
}

TEST_F(SoleClaimTest, EvictingThePodThatUsesItFreesIt) {
  cluster.Run("a", PodWith("user", {ClaimVolume("sole")}));
  const auto info = cluster.Prepare(PodWith("incoming", {ClaimVolume("sole")}));
  framework::ScratchPool scratch;
  const framework::Attempt attempt(info, cluster.nodes(), cluster.state(), scratch);
  EXPECT_TRUE(plugin->PreFilter(attempt).status.ok());
  cluster::PlacedPod& user = *cluster.nodes().pods(cluster.RowOf("a")).front();
  EXPECT_TRUE(plugin->RemovePod(attempt, user, cluster.RowOf("a")).ok());
  framework::Rejections gone;
  plugin->Filter(attempt, cluster.nodes().all(), gone);
  for (const auto& entry : gone.entries()) EXPECT_TRUE(entry.rows.Empty());
  // Matched by name only, as in kube-scheduler.
  const auto namesake = cluster.Prepare(PodWith("namesake", {ClaimVolume("sole")}).Namespace("elsewhere"));
  const cluster::PlacedPod placed{namesake.pod, namesake.shape->use};
  EXPECT_TRUE(plugin->AddPod(attempt, placed, cluster.RowOf("b")).ok());
  framework::Rejections back;
  plugin->Filter(attempt, cluster.nodes().all(), back);
  EXPECT_EQ(back.entries().back().rows.Count(), 2U);
}

}  // namespace
}  // namespace berth::plugins
