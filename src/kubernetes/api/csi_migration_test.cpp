#include "kubernetes/api/csi_migration.hpp"

#include <gtest/gtest.h>

#include "testing/storage.hpp"

namespace berth::api {
namespace {

using berth::testing::MakeVolume;
using berth::testing::Term;
using Source = PersistentVolume::Source;

constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kBetaZone = "failure-domain.beta.kubernetes.io/zone";
constexpr const char* kBetaRegion = "failure-domain.beta.kubernetes.io/region";

std::string HandleOf(const PersistentVolume& volume) {
  auto handle = CsiHandleOf(volume);
  return handle ? *handle : "error: " + handle.error().message;
}

TEST(CsiMigration, DriversAreFoundByPluginName) {
  EXPECT_EQ(MigrationOfPlugin("kubernetes.io/aws-ebs")->driver, "ebs.csi.aws.com");
  EXPECT_TRUE(MigrationOfPlugin("kubernetes.io/portworx-volume")->complete);
  EXPECT_FALSE(MigrationOfPlugin("kubernetes.io/azure-file")->complete);
  EXPECT_EQ(MigrationOfPlugin("csi.example.com"), nullptr);
  EXPECT_EQ(MigrationOf(Volume::Source::kIscsi), nullptr);
}

TEST(CsiMigration, HandlesMatchTheDrivers) {
  const struct {
    const char* what;
    PersistentVolume volume;
    std::string handle;
  } rows[] = {
      {"an EBS id of its own", MakeVolume("v").InTree(Source::kAwsElasticBlockStore, "vol-1"), "vol-1"},
      {"an EBS id with a zone",
       MakeVolume("v").InTree(Source::kAwsElasticBlockStore, "aws://us-east-1a/vol-1"), "vol-1"},
      {"an EBS id without a volume",
       MakeVolume("v").InTree(Source::kAwsElasticBlockStore, "aws://us-east-1a/disk"),
       "error: failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume "
       "(aws://us-east-1a/disk)"},
      {"a GCE disk without zone", MakeVolume("v").InTree(Source::kGcePersistentDisk, "d"),
       "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"},
      {"a GCE disk with a zone",
       MakeVolume("v").InTree(Source::kGcePersistentDisk, "d").Label(kZone, "a-b-c"),
       "projects/UNSPECIFIED/zones/a-b-c/disks/d"},
      {"a regional GCE disk",
       MakeVolume("v").InTree(Source::kGcePersistentDisk, "d").Label(kZone, "a-b-c__a-b-d"),
       "projects/UNSPECIFIED/regions/a-b/disks/d"},
      {"a GCE disk of two regions",
       MakeVolume("v").InTree(Source::kGcePersistentDisk, "d").Label(kBetaZone, "a-c-c__a-b-d"),
       "error: failed to get region from zones: multiple or no regions gotten from zones, got: map[a-b:{} "
       "a-c:{}]"},
      {"a cinder volume", MakeVolume("v").InTree(Source::kCinder, "id"), "id"},
  };
  for (const auto& row : rows) EXPECT_EQ(HandleOf(row.volume), row.handle) << row.what;
  PersistentVolume azure = MakeVolume("v").InTree(Source::kAzureDisk, "uri");
  EXPECT_EQ(HandleOf(azure), "uri");
  azure.azure_kind = std::string("mAnAgEd");
  EXPECT_EQ(HandleOf(azure), "uri");
  azure.azure_kind = std::string("Shared");
  EXPECT_EQ(HandleOf(azure), "error: kind(Shared) is not supported in csi migration");
}

TEST(CsiMigration, ZonesBecomeTheDriversTopology) {
  const std::string key = "topology.ebs.csi.aws.com/zone";
  const auto ebs = [] { return MakeVolume("v").InTree(Source::kAwsElasticBlockStore, "vol-1"); };
  const auto affinity = [](const PersistentVolume& volume) {
    const auto translated = CsiAffinityOf(volume);
    return translated ? translated->terms : std::vector<NodeSelectorTerm>{};
  };
  EXPECT_EQ(affinity(ebs().ReachedFrom(kZone, {"a"})), std::vector{Term({{key, "In", {"a"}}})});
  EXPECT_EQ(affinity(ebs().Label(kZone, "b__ a ")), std::vector{Term({{key, "In", {"a", "b"}}})})
      << "zones given only by the label";
  EXPECT_EQ(affinity(ebs().ReachedFrom("other", {"x"}).Label(kZone, "a")),
            std::vector{Term({{"other", "In", {"x"}}, {key, "In", {"a"}}})});
  EXPECT_EQ(affinity(ebs().Reached({Term({{kBetaZone, "In", {"a"}}, {kBetaRegion, "In", {"r"}}})})),
            std::vector{Term({{key, "In", {"a"}}, {"topology.kubernetes.io/region", "In", {"r"}}})})
      << "old names of regions become the present ones";
  EXPECT_EQ(affinity(ebs()), std::vector<NodeSelectorTerm>{});
  EXPECT_EQ(affinity(MakeVolume("v").InTree(Source::kAzureDisk, "uri").ReachedFrom(kZone, {"a"})),
            std::vector{Term({{kZone, "In", {"a"}}})})
      << "this driver keeps them";
}

}  // namespace
}  // namespace berth::api
