#include "scheduler/plugins/volume_binding/volume_binding.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/random.hpp"
#include "testing/cluster.hpp"
#include "testing/repetitions.hpp"
#include "testing/storage.hpp"

namespace berth::plugins {
namespace {

using api::PersistentVolume;
using api::PersistentVolumeClaim;
using berth::testing::Amount;
using berth::testing::ClaimVolume;
using berth::testing::Cluster;
using berth::testing::EphemeralVolume;
using berth::testing::Fits;
using berth::testing::MakeClaim;
using berth::testing::MakeClass;
using berth::testing::MakeNode;
using berth::testing::MakeVolume;
using berth::testing::NodeScores;
using berth::testing::PodBuilder;
using berth::testing::PodWith;
using berth::testing::Term;
using berth::testing::Unresolvable;
using berth::testing::Verdict;
using berth::testing::Verdicts;

const std::string kAffinity = "node(s) didn't match PersistentVolume's node affinity";
const std::string kNoVolume = "node(s) didn't find available persistent volumes to bind";
const std::string kNoSpace = "node(s) did not have enough free storage";
const std::string kLost = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

// Nodes "a" and "b" in zones of the same names; class "fast" provisions, class "local" does not.
class BindingTest : public ::testing::Test {
 protected:
  BindingTest() {
    cluster.Add(MakeNode("a").Zone("a")).Add(MakeNode("b").Zone("b"));
    cluster.Put(MakeClass()).Put(MakeClass("local", "kubernetes.io/no-provisioner"));
    plugin = cluster.Make<VolumeBinding>();
  }
  void Put(const testing::ClaimBuilder& claim) { cluster.Put<PersistentVolumeClaim>(claim); }
  void Put(const testing::VolumeBuilder& volume) { cluster.Put<PersistentVolume>(volume); }
  static testing::VolumeBuilder Local(const std::string& name, const std::string& zone,
                                      std::string_view size = "10Gi") {
    return MakeVolume(name).Class("local").Size(size).ReachedFrom("topology.kubernetes.io/zone", {zone});
  }
  PodBuilder WithClaims(std::initializer_list<const char*> claims) {
    PodBuilder pod = PodWith("p", {});
    for (const char* claim : claims) WithVolume(pod, ClaimVolume(claim));
    return pod;
  }
  Verdicts Evaluate(std::initializer_list<const char*> claims) { return Evaluate(WithClaims(claims)); }
  Verdicts Evaluate(const PodBuilder& pod) {
    const auto answer = cluster.PreFilter(*plugin, pod);
    EXPECT_TRUE(answer.status.ok()) << answer.status.Message();
    return cluster.Filter(*plugin, pod);
  }
  void Track(const std::string& zone, std::string_view capacity, std::string_view largest = "") {
    api::CSIDriver driver;
    driver.metadata.name = "csi.example.com";
    driver.storage_capacity = true;
    cluster.Put(driver);
    api::CSIStorageCapacity object;
    object.metadata.ns = "storage";
    object.metadata.name = "in-" + zone;
    object.storage_class_name = "fast";
    object.capacity = Amount(capacity);
    if (!largest.empty()) object.maximum_volume_size = Amount(largest);
    api::LabelSelector topology;
    topology.match_labels.Set("topology.kubernetes.io/zone", zone);
    object.node_topology = topology;
    cluster.Put(object);
  }

  Cluster cluster;
  std::unique_ptr<VolumeBinding> plugin;
};

TEST_F(BindingTest, PreFilterChecksClaims) {
  api::StorageClass immediate = MakeClass("immediate");
  immediate.volume_binding_mode = "Immediate";
  cluster.Put(immediate);
  const auto pre_filter = [&](const PodBuilder& pod) {
    const auto status = cluster.PreFilter(*plugin, pod).status;
    return status.skip() ? "skip" : status.Message();
  };
  EXPECT_EQ(pre_filter(WithClaims({})), "skip");
  EXPECT_EQ(pre_filter(WithClaims({"c"})), "persistentvolumeclaim \"c\" not found");
  EXPECT_EQ(pre_filter(PodWith("p", {EphemeralVolume("e")})),
            "waiting for ephemeral volume controller to create the persistentvolumeclaim \"p-e\"");
  Put(MakeClaim("p-e"));
  EXPECT_EQ(pre_filter(PodWith("p", {EphemeralVolume("e")})),
            "PVC default/p-e was not created for pod default/p (pod is not owner)");
  Put(MakeClaim("c").Class("immediate"));
  EXPECT_EQ(pre_filter(WithClaims({"c"})), "pod has unbound immediate PersistentVolumeClaims");
  auto half_bound = MakeClaim("c");
  half_bound.raw().volume_name = "v";
  Put(half_bound);
  EXPECT_EQ(pre_filter(WithClaims({"c"})), "pod has unbound immediate PersistentVolumeClaims");
  half_bound.raw().phase = "Lost";
  Put(half_bound);
  EXPECT_EQ(pre_filter(WithClaims({"c"})),
            "persistentvolumeclaim \"c\" bound to non-existent persistentvolume \"v\"");
  auto deleting = MakeClaim("c");
  deleting.raw().metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
  Put(deleting);
  EXPECT_EQ(pre_filter(WithClaims({"c"})), "persistentvolumeclaim \"c\" is being deleted");
}

TEST_F(BindingTest, BoundVolumesMustBeAccessible) {
  Put(Local("v", "a"));
  Put(MakeClaim("c").BoundTo("v"));
  EXPECT_EQ(Evaluate({"c"}), (Verdicts{{"a", Fits()}, {"b", Unresolvable({kAffinity})}}));
  Put(MakeClaim("d").BoundTo("none"));
  EXPECT_EQ(Evaluate({"c", "d"}), (Verdicts{{"a", Unresolvable({kLost})}, {"b", Unresolvable({kAffinity})}}))
      << "the first claim that fails decides";
  // A volume's affinity matches labels only; a term for the node's name is ignored.
  Put(MakeVolume("named").Reached({Term({}, {{"metadata.name", "In", {"a"}}})}));
  Put(MakeClaim("e").BoundTo("named"));
  EXPECT_EQ(Evaluate({"e"}).at("b"), Fits());
}

TEST_F(BindingTest, MigratedVolumesUseTheDriversTopology) {
  cluster.Add(MakeNode("m").Zone("a").Label("topology.ebs.csi.aws.com/zone", "b"));
  auto csi_node = testing::MakeCsiNode("m", {});
  csi_node.metadata.annotations = api::Labels{
      {"storage.alpha.kubernetes.io/migrated-plugins", "kubernetes.io/gce-pd,kubernetes.io/aws-ebs"}};
  cluster.Put(csi_node);
  Put(MakeVolume("v")
          .InTree(PersistentVolume::Source::kAwsElasticBlockStore, "vol-1")
          .ReachedFrom("topology.kubernetes.io/zone", {"a"}));
  Put(MakeClaim("c").BoundTo("v"));
  EXPECT_EQ(Evaluate({"c"}),
            (Verdicts{{"a", Fits()}, {"b", Unresolvable({kAffinity})}, {"m", Unresolvable({kAffinity})}}));
  Put(MakeVolume("v").InTree(PersistentVolume::Source::kAwsElasticBlockStore, "aws://bad"));
  EXPECT_EQ(
      Evaluate({"c"}).at("m"),
      (Verdict{
          framework::Code::kError,
          {"could not translate pv: failed to translate Kubernetes ID to EBS Volume ID Invalid format for "
           "AWS volume (aws://bad)"}}));
  EXPECT_EQ(Evaluate({"c"}).at("a"), Fits());
}

TEST_F(BindingTest, AnUnboundClaimUsesAMatchingVolume) {
  const auto claim = [] { return MakeClaim("c").Class("local"); };
  const struct {
    const char* what;
    testing::VolumeBuilder volume;
    bool fits;
  } rows[] = {
      {"as it should be", Local("v", "a"), true},
      {"too small", Local("v", "a", "4Gi"), false},
      {"of another class", Local("v", "a").Class("fast"), false},
      {"another claim's", Local("v", "a").ClaimedBy("d"), false},
      {"an earlier claim's of that name", Local("v", "a").ClaimedBy("c", "gone"), false},
      {"made for the claim", Local("v", "a").ClaimedBy("c"), true},
  };
  for (const auto& row : rows) {
    Put(claim());
    Put(row.volume);
    EXPECT_EQ(Evaluate({"c"}), (Verdicts{{"a", row.fits ? Fits() : Unresolvable({kNoVolume})},
                                         {"b", Unresolvable({kNoVolume})}}))
        << row.what;
  }
  auto odd = Local("v", "a");
  odd.raw().phase = "Released";
  Put(odd);
  EXPECT_EQ(Evaluate({"c"}).at("a"), Unresolvable({kNoVolume}));
  auto block = Local("v", "a");
  block.raw().volume_mode = "Block";
  Put(block);
  EXPECT_EQ(Evaluate({"c"}).at("a"), Unresolvable({kNoVolume}));
  Put(Local("v", "a"));
  Put(claim().Modes({"ReadWriteMany"}));
  EXPECT_EQ(Evaluate({"c"}).at("a"), Unresolvable({kNoVolume}));
  auto choosy = claim();
  choosy.raw().selector = api::LabelSelector{{{"kind", "ssd"}}, {}};
  Put(choosy);
  EXPECT_EQ(Evaluate({"c"}).at("a"), Unresolvable({kNoVolume}));
  Put(Local("v", "a").Label("kind", "ssd"));
  EXPECT_EQ(Evaluate({"c"}).at("a"), Fits());
}

TEST_F(BindingTest, EachClaimNeedsADistinctVolume) {
  Put(MakeClaim("c").Class("local"));
  Put(MakeClaim("d").Class("local").Size("8Gi"));
  Put(Local("v", "a"));
  EXPECT_EQ(Evaluate({"d", "c"}).at("a"), Unresolvable({kNoVolume}));
  Put(Local("w", "a", "6Gi"));
  EXPECT_EQ(Evaluate({"d", "c"}).at("a"), Fits()) << "the smaller claim takes the smaller volume";
}

TEST_F(BindingTest, AVolumeReservedForTheClaimIsTheOnlyOption) {
  Put(MakeClaim("c").Class("local"));
  Put(Local("mine", "b").ClaimedBy("c", "uid-of-c"));
  Put(Local("other", "a"));
  EXPECT_EQ(Evaluate({"c"}), (Verdicts{{"a", Unresolvable({kNoVolume})}, {"b", Fits()}}));
}

TEST_F(BindingTest, EachEntryOfAClaimNeedsADistinctVolume) {
  Put(MakeClaim("c").Class("local"));
  Put(Local("mine", "b").ClaimedBy("c", "uid-of-c"));
  Put(Local("other", "a"));
  EXPECT_EQ(Evaluate({"c", "c"}),
            (Verdicts{{"a", Unresolvable({kNoVolume})}, {"b", Unresolvable({kNoVolume})}}));
  Put(Local("third", "b"));
  EXPECT_EQ(Evaluate({"c", "c"}), (Verdicts{{"a", Unresolvable({kNoVolume})}, {"b", Fits()}}))
      << "the second entry uses a free volume";
  EXPECT_EQ(Evaluate({"c", "c", "c"}).at("b"), Unresolvable({kNoVolume}));
}

TEST_F(BindingTest, ABoundClaimMayBeListedAgainAndAgain) {
  Put(Local("v", "a"));
  Put(MakeClaim("c").BoundTo("v"));
  Put(MakeClaim("lost").BoundTo("none"));
  EXPECT_EQ(Evaluate({"c", "c", "c"}), (Verdicts{{"a", Fits()}, {"b", Unresolvable({kAffinity})}}));
  EXPECT_EQ(Evaluate({"c", "lost", "c", "lost"}),
            (Verdicts{{"a", Unresolvable({kLost})}, {"b", Unresolvable({kAffinity})}}));
}

// Claims are matched one after the other, the smallest first, on each node with the smallest volume that is
// left. Some claims are listed more than once.
TEST(VolumeBindingClaims, AreMatchedLikeOneAfterTheOtherOnEachNode) {
  for (std::uint64_t seed = 1; seed <= testing::Repetitions(40); ++seed) {
    Random random(seed);
    const auto size = [](std::size_t gib) { return std::to_string(gib) + "Gi"; };
    Cluster cluster;
    cluster.Put(MakeClass("local", "kubernetes.io/no-provisioner"));
    constexpr std::size_t kZones = 3;
    for (std::size_t i = 0; i < 7; ++i)
      cluster.Add(MakeNode("n" + std::to_string(i)).Zone(std::to_string(i % kZones)));
    const auto plugin = cluster.Make<VolumeBinding>();

    std::map<std::pair<std::size_t, std::string>, std::string> zone_of;  // by size and name
    for (std::size_t i = 0; i < 8; ++i) {
      const std::string name = "v" + std::to_string(i);
      const std::size_t gib = 1 + random.Below(4), zone = random.Below(kZones + 1);
      auto volume = MakeVolume(name).Class("local").Size(size(gib));
      if (zone < kZones) volume.ReachedFrom("topology.kubernetes.io/zone", {std::to_string(zone)});
      cluster.Put<PersistentVolume>(volume);
      zone_of[{gib, name}] = zone < kZones ? std::to_string(zone) : "";
    }
    PodBuilder pod = PodWith("p", {});
    std::vector<std::size_t> entries;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string name = "c" + std::to_string(i);
      const std::size_t gib = 1 + random.Below(3);
      cluster.Put<PersistentVolumeClaim>(MakeClaim(name).Class("local").Size(size(gib)));
      for (std::size_t times = 1 + random.Below(3); times > 0; --times) {
        WithVolume(pod, ClaimVolume(name));
        entries.push_back(gib);
      }
    }
    std::ranges::sort(entries);

    Verdicts expected;
    for (std::size_t i = 0; i < 7; ++i) {
      std::set<std::string> used;
      bool fits = true;
      for (const std::size_t gib : entries) {
        bool found = false;
        for (const auto& [volume, zone] : zone_of) {
          found = volume.first >= gib && (zone.empty() || zone == std::to_string(i % kZones)) &&
                  used.insert(volume.second).second;
          if (found) break;
        }
        fits = fits && found;
      }
      expected["n" + std::to_string(i)] = fits ? Fits() : Unresolvable({kNoVolume});
    }
    EXPECT_EQ(cluster.Evaluate(*plugin, pod), expected) << "seed " << seed;
  }
}

// The work is linear in claims, volumes and nodes: comparing each volume on each node with what all earlier
// claims use would take 60 billion steps.
TEST(VolumeBindingClaims, UseHundredsOfVolumesThatAllNodesCanAccess) {
  Cluster cluster;
  cluster.Put(MakeClass("local", "kubernetes.io/no-provisioner"));
  for (int i = 0; i < 1000; ++i) cluster.Add(MakeNode("n" + std::to_string(i)));
  const auto plugin = cluster.Make<VolumeBinding>();
  cluster.Put<PersistentVolumeClaim>(MakeClaim("c").Class("local"));
  PodBuilder pod = PodWith("p", {});
  for (int i = 0; i < 700; ++i) {
    cluster.Put<PersistentVolume>(MakeVolume("v" + std::to_string(i)).Class("local"));
    WithVolume(pod, ClaimVolume("c"));
  }
  EXPECT_EQ(cluster.Evaluate(*plugin, pod).at("n999"), Fits());
  WithVolume(pod, ClaimVolume("c"));
  EXPECT_EQ(cluster.Evaluate(*plugin, pod).at("n999"), Unresolvable({kNoVolume}));
}

TEST_F(BindingTest, VolumesAreProvisionedWhereTheClassAllowsIt) {
  Put(MakeClaim("c"));
  EXPECT_EQ(Evaluate({"c"}), (Verdicts{{"a", Fits()}, {"b", Fits()}}));
  auto limited = MakeClass();
  limited.allowed_topologies = {{{"topology.kubernetes.io/zone", {"b"}}}, {}};
  cluster.Put(limited);
  EXPECT_EQ(Evaluate({"c"}), (Verdicts{{"a", Unresolvable({kNoVolume})}, {"b", Fits()}}));
  Put(MakeClaim("c").Annotation("volume.kubernetes.io/selected-node", "a"));
  cluster.Put(MakeClass());
  EXPECT_EQ(Evaluate({"c"}), (Verdicts{{"a", Fits()}, {"b", Unresolvable({kNoVolume})}}));
}

TEST_F(BindingTest, CapacityIsCheckedIfTheDriverTracksIt) {
  Put(MakeClaim("c").Size("5Gi"));
  Track("a", "5Gi");
  Track("b", "100Gi", "4Gi");
  EXPECT_EQ(Evaluate({"c"}), (Verdicts{{"a", Fits()}, {"b", Unresolvable({kNoSpace})}}));
  Put(MakeClaim("d").Class("local"));
  EXPECT_EQ(Evaluate({"c", "d"}).at("a"), Unresolvable({kNoVolume}));
}

TEST_F(BindingTest, CapacityIsThatOfNodesWithTheLabels) {
  Put(MakeClaim("c").Size("5Gi"));
  Track("a", "5Gi");
  EXPECT_EQ(Evaluate({"c", "c"}), (Verdicts{{"a", Fits()}, {"b", Unresolvable({kNoSpace})}}));
  cluster.Add(MakeNode("c").Zone("a"));
  EXPECT_EQ(Evaluate({"c"}).at("c"), Fits());
  Track("a", "4Gi");
  EXPECT_EQ(Evaluate({"c"}).at("c"), Unresolvable({kNoSpace}));
}

TEST_F(BindingTest, CapacityIsComparedWithTheSizeOfEachClaim) {
  Put(MakeClaim("small").Size("5Gi"));
  Put(MakeClaim("large").Size("20Gi"));
  Track("a", "20Gi");
  Track("b", "10Gi");
  EXPECT_EQ(Evaluate({"small", "small"}), (Verdicts{{"a", Fits()}, {"b", Fits()}}));
  EXPECT_EQ(Evaluate({"small", "large", "small"}),
            (Verdicts{{"a", Fits()}, {"b", Unresolvable({kNoSpace})}}));
}

TEST_F(BindingTest, ScoresReflectStorageUtilization) {
  Put(MakeClaim("c").Size("30Gi"));
  Track("a", "100Gi");
  Track("b", "40Gi");
  Evaluate({"c"});
  EXPECT_EQ(cluster.Scores(*plugin, WithClaims({"c"})), (NodeScores{{"a", 70}, {"b", 25}}));
  Put(MakeClaim("d").Size("30Gi"));
  Evaluate({"c", "d"});
  EXPECT_EQ(cluster.Scores(*plugin, WithClaims({"c", "d"})), (NodeScores{{"a", 40}, {"b", 0}}));
  Put(MakeClaim("e").Class("local"));
  Put(Local("v", "a", "20Gi"));
  Evaluate({"e"});
  EXPECT_EQ(cluster.Scores(*plugin, WithClaims({"e"})).at("a"), 75) << "5Gi of a volume with 20Gi";
  cluster.PreFilter(*plugin, WithClaims({}));
  EXPECT_TRUE(cluster.PreScore(*plugin, WithClaims({})).ok())
      << "PreScore succeeds for pods without volumes too";
}

TEST_F(BindingTest, ReservedVolumesAreVisibleToTheNextPod) {
  Put(MakeClaim("c").Class("local"));
  Put(MakeClaim("d").Class("local"));
  Put(MakeClaim("new"));
  Put(Local("v", "a"));
  EXPECT_EQ(Evaluate({"c", "new"}).at("a"), Fits());
  const auto info = cluster.Prepare(WithClaims({"c", "new"}));
  const std::string node = "a";
  framework::CycleState state = cluster.state().Clone();
  const framework::Placement placement{info, node, state};
  ASSERT_TRUE(plugin->Reserve(placement).ok());
  EXPECT_TRUE(plugin->PreBindPreFlight(placement).status.ok());
  const auto volume = cluster.objects().Of<PersistentVolume>().FindAssumed("v");
  EXPECT_EQ(*volume->claim_ref, (PersistentVolume::ClaimRef{"default", "c", "uid-of-c"}));
  EXPECT_EQ(*volume->metadata.Annotation("pv.kubernetes.io/bound-by-controller"), "yes");
  const auto claim = cluster.objects().Of<PersistentVolumeClaim>().FindAssumed("default", "new");
  EXPECT_EQ(*claim->metadata.Annotation("volume.kubernetes.io/selected-node"), "a");
  EXPECT_EQ(Evaluate({"d"}).at("a"), Unresolvable({kNoVolume})) << "taken";
  EXPECT_EQ(Evaluate({"new"}).at("b"), Unresolvable({kNoVolume})) << "to be made on the other node";
  plugin->Unreserve(placement);
  EXPECT_EQ(Evaluate({"d"}).at("a"), Fits());
  EXPECT_EQ(Evaluate({"new"}).at("b"), Fits());
}

TEST_F(BindingTest, AClaimThatIsListedAgainHasOneAssumedObject) {
  Put(MakeClaim("new"));
  EXPECT_EQ(Evaluate({"new", "new", "new"}).at("a"), Fits());
  std::vector<std::shared_ptr<const PersistentVolumeClaim>> assumed;
  cluster.objects().Of<PersistentVolumeClaim>().Listen(
      [&](const auto& change) { assumed.push_back(change.after); });
  const auto info = cluster.Prepare(WithClaims({"new", "new", "new"}));
  const std::string node = "a";
  framework::CycleState state = cluster.state().Clone();
  const framework::Placement placement{info, node, state};
  ASSERT_TRUE(plugin->Reserve(placement).ok());
  ASSERT_FALSE(assumed.empty());
  for (const auto& claim : assumed) EXPECT_EQ(claim, assumed.front()) << "one object";
  plugin->Unreserve(placement);
  EXPECT_EQ(cluster.objects().Of<PersistentVolumeClaim>().assumed_count(), 0U);
}

TEST_F(BindingTest, NothingIsReservedForBoundClaims) {
  Put(MakeVolume("v"));
  Put(MakeClaim("c").BoundTo("v"));
  Evaluate({"c"});
  const auto info = cluster.Prepare(WithClaims({"c"}));
  const std::string node = "a";
  framework::CycleState state = cluster.state().Clone();
  const framework::Placement placement{info, node, state};
  ASSERT_TRUE(plugin->Reserve(placement).ok());
  EXPECT_TRUE(plugin->PreBindPreFlight(placement).status.skip());
}

TEST(VolumeBindingArgs, AreValidated) {
  Cluster cluster;
  const auto error = [&](const std::string& args) {
    const auto made = cluster.TryMake<VolumeBinding>(args);
    return made ? std::string() : made.error().message;
  };
  EXPECT_EQ(error("bindTimeoutSeconds: 0"), "");
  EXPECT_EQ(error("shape: []"), "");
  EXPECT_EQ(error("bindTimeoutSeconds: -1"),
            "profiles[0].pluginConfig[0].args.bindTimeoutSeconds: Invalid value: -1: invalid "
            "BindTimeoutSeconds, should "
            "not be a negative value");
  EXPECT_EQ(error("shape: [{utilization: 5, score: 11}]"),
            "profiles[0].pluginConfig[0].args.shape[0].score: Invalid value: 11: not in valid range [0, 10]");
  EXPECT_NE(error("bindTimeout: 5").find("unknown field \"bindTimeout\""), std::string::npos);
}

}  // namespace
}  // namespace berth::plugins
