#include "scheduler/plugins/volume_zone/volume_zone.hpp"

#include <gtest/gtest.h>

#include "testing/cluster.hpp"
#include "testing/storage.hpp"

namespace berth::plugins {
namespace {

using berth::testing::ClaimVolume;
using berth::testing::Cluster;
using berth::testing::Fits;
using berth::testing::MakeClaim;
using berth::testing::MakeClass;
using berth::testing::MakeNode;
using berth::testing::MakeVolume;
using berth::testing::PodWith;
using berth::testing::Unresolvable;

const auto kElsewhere = Unresolvable({"node(s) had no available volume zone"});
constexpr const char* kZoneLabel = "topology.kubernetes.io/zone";
constexpr const char* kBetaZone = "failure-domain.beta.kubernetes.io/zone";
constexpr const char* kRegion = "topology.kubernetes.io/region";

TEST(VolumeZone, NodesMustMatchTheVolumesZone) {
  const struct {
    const char* what;
    const char *volume_key, *volume_value;
    const char *node_key, *node_value;
    bool fits;
  } rows[] = {
      {"one of two zones", kZoneLabel, "us-a__us-b", kZoneLabel, "us-b", true},
      {"another zone", kZoneLabel, "us-a__us-b", kZoneLabel, "us-c", false},
      {"a node without the kind of label", kZoneLabel, "us-a", kRegion, "us", false},
      {"a node without labels", kZoneLabel, "us-a", "other", "x", true},
      {"an old label and a present one", kBetaZone, "us-a", kZoneLabel, "us-a", true},
      {"an old label and a wrong present one", kBetaZone, "us-a", kZoneLabel, "us-b", false},
      {"a present label and an old one", kZoneLabel, "us-a", kBetaZone, "us-a", false},
  };
  for (const auto& row : rows) {
    Cluster cluster;
    cluster.Add(MakeNode("n").Label(row.node_key, row.node_value));
    cluster.Put<api::PersistentVolume>(MakeVolume("v").Label(row.volume_key, row.volume_value));
    cluster.Put<api::PersistentVolumeClaim>(MakeClaim("c").BoundTo("v"));
    const auto plugin = cluster.Make<VolumeZone>();
    const auto pod = PodWith("p", {ClaimVolume("c")});
    ASSERT_TRUE(cluster.PreFilter(*plugin, pod).status.ok()) << row.what;
    EXPECT_EQ(cluster.Filter(*plugin, pod).at("n"), row.fits ? Fits() : kElsewhere) << row.what;
  }
}

TEST(VolumeZone, PreFilterChecksClaims) {
  Cluster cluster;
  cluster.Put(MakeClass("waits"));
  api::StorageClass immediate = MakeClass("immediate");
  immediate.volume_binding_mode = "Immediate";
  api::StorageClass modeless = MakeClass("modeless");
  modeless.volume_binding_mode.clear();
  cluster.Put(immediate).Put(modeless);
  cluster.Put<api::PersistentVolume>(MakeVolume("plain"));
  cluster.Put<api::PersistentVolume>(MakeVolume("odd").Label(kZoneLabel, "us-a__"));
  const auto plugin = cluster.Make<VolumeZone>();
  const struct {
    testing::ClaimBuilder claim;
    std::string message;  // empty: Skip
  } rows[] = {
      {MakeClaim("c").Class("waits"), ""},
      {MakeClaim("c").BoundTo("plain"), ""},
      {MakeClaim("c").BoundTo("odd"), ""},
      {MakeClaim("c").Class("immediate"), "PersistentVolume had no name"},
      {MakeClaim("c").Class(""), "PersistentVolumeClaim had no pv name and storageClass name"},
      {MakeClaim("c").Class("modeless"), "VolumeBindingMode not set for StorageClass \"modeless\""},
      {MakeClaim("c").Class("none"), "storageclass.storage.k8s.io \"none\" not found"},
      {MakeClaim("c").BoundTo("none"), "persistentvolume \"none\" not found"},
      {MakeClaim("another"), "persistentvolumeclaim \"c\" not found"},
  };
  for (const auto& row : rows) {
    const auto known = cluster.objects().Of<api::PersistentVolumeClaim>().Find("default", "c");
    if (known != nullptr) cluster.objects().Apply(ports::Change<api::PersistentVolumeClaim>{known, nullptr});
    cluster.Put<api::PersistentVolumeClaim>(row.claim);
    const auto answer = cluster.PreFilter(*plugin, PodWith("p", {ClaimVolume("c")}));
    EXPECT_EQ(answer.status.skip(), row.message.empty()) << row.message;
    EXPECT_EQ(answer.status.Message(), row.message);
  }
  EXPECT_EQ(cluster.PreFilter(*plugin, PodWith("p", {ClaimVolume("")})).status.Message(),
            "PersistentVolumeClaim had no name");
}

}  // namespace
}  // namespace berth::plugins
