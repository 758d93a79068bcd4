#include "scheduler/plugins/data_locality/data_locality.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "scheduler/plugins/data_locality/entry_list.hpp"
#include "testing/cluster.hpp"
#include "testing/storage.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::NodeScores;
using berth::testing::VolumeBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kHosts = "scheduling.berth.dev/preferred-hosts";
constexpr auto kReads = "scheduling.berth.dev/reads-claims";
constexpr auto kZone = "topology.kubernetes.io/zone";

api::Pod Annotated(std::vector<std::pair<std::string, std::string>> annotations) {
  api::Pod pod = MakePod();
  api::Labels list;
  for (auto& [key, value] : annotations) list.Set(key, value);
  pod.metadata.annotations = std::move(list);
  return pod;
}

void Mount(api::Pod& pod, const std::string& claim) {
  std::vector<api::Volume> volumes(pod.spec.volumes.begin(), pod.spec.volumes.end());
  volumes.push_back({.name = claim,
                     .source = api::Volume::Source::kPersistentVolumeClaim,
                     .id = claim,
                     .rbd = {},
                     .azure_kind = {}});
  pod.spec.volumes = std::move(volumes);
}

// Zone a: n1, n2; zone b: n3. Volumes va and vb in the zones, "local" on n2, "anywhere" without affinity,
// each with the claim of its name.
struct DataLocalityTest : ::testing::Test {
  DataLocalityTest() {
    plugin = cluster.Make<DataLocality>();
    cluster.Add(MakeNode("n1").Zone("a").Address("InternalIP", "10.0.0.1"))
        .Add(MakeNode("n2.example.com").Zone("a").Label("kubernetes.io/hostname", "n2"))
        .Add(MakeNode("n3").Zone("b"));
    cluster.Put<api::PersistentVolume>(VolumeBuilder("va").ReachedFrom(kZone, {"a"}));
    cluster.Put<api::PersistentVolume>(VolumeBuilder("vb").ReachedFrom(kZone, {"b"}));
    cluster.Put<api::PersistentVolume>(VolumeBuilder("local").ReachedFrom("kubernetes.io/hostname", {"n2"}));
    cluster.Put<api::PersistentVolume>(VolumeBuilder("anywhere"));
    for (const auto* name : {"va", "vb", "local", "anywhere"}) {
      api::PersistentVolumeClaim claim;
      claim.metadata.ns = "default";
      claim.metadata.name = name;
      claim.volume_name = name;
      cluster.Put<api::PersistentVolumeClaim>(claim);
    }
    api::PersistentVolumeClaim unbound;
    unbound.metadata.ns = "default";
    unbound.metadata.name = "unbound";
    cluster.Put<api::PersistentVolumeClaim>(unbound);
  }
  // Of n1, n2 and n3; empty: the pod skips the plugin.
  std::vector<std::int64_t> Rate(const api::Pod& pod) {
    std::vector<std::int64_t> scores;
    for (const auto& [node, score] : cluster.Rate(*plugin, pod)) scores.push_back(score);
    return scores;
  }

  Cluster cluster;
  std::unique_ptr<DataLocality> plugin;
};

TEST_F(DataLocalityTest, PreferredHostsAndTheirZonesScoreHigher) {
  const struct {
    std::string name, hosts;
    std::vector<std::int64_t> scores;
  } cases[] = {
      {"a node by its name", "n1", {100, 50, 0}},
      {"a node by its address", "10.0.0.1", {100, 50, 0}},
      {"a node by its host name", "n2", {50, 100, 0}},
      {"a host with a port", "n3:9866", {0, 0, 100}},
      {"several hosts, with any separators", " n1,,n3 \n", {100, 50, 100}},
      {"unknown hosts do not count", "gone,n3", {0, 0, 100}},
      {"only unknown hosts", "gone", {}},
      {"no hosts", "", {}},
  };
  for (const auto& row : cases) EXPECT_EQ(Rate(Annotated({{kHosts, row.hosts}})), row.scores) << row.name;
}

TEST_F(DataLocalityTest, VolumesCountByTheirNodeAffinity) {
  const struct {
    std::string name, claims;
    std::vector<std::int64_t> scores;
  } cases[] = {
      {"a volume of a zone", "va", {100, 100, 0}},
      {"a volume of a node", "local", {0, 100, 0}},
      {"several volumes", "va,vb,local", {33, 66, 33}},
      {"a volume without affinity does not count", "anywhere,vb", {0, 0, 100}},
      {"an unbound claim", "unbound", {}},
      {"an unknown claim", "missing", {}},
  };
  for (const auto& row : cases) EXPECT_EQ(Rate(Annotated({{kReads, row.claims}})), row.scores) << row.name;
}

TEST_F(DataLocalityTest, MountedClaimsCountToo) {
  api::Pod pod = Annotated({{kReads, "vb"}});
  Mount(pod, "local");
  EXPECT_THAT(Rate(pod), ElementsAre(0, 50, 50));
}

TEST_F(DataLocalityTest, SourcesAreWeighted) {
  const api::Pod pod = Annotated({{kHosts, "n3"}, {kReads, "va"}});
  EXPECT_THAT(Rate(pod), ElementsAre(50, 50, 50));
  const auto first = std::exchange(plugin, cluster.Make<DataLocality>("{hostsWeight: 3, zoneScore: 0}"));
  // A plugin follows the volumes that are added after it was built.
  cluster.Put<api::PersistentVolume>(VolumeBuilder("va").ReachedFrom(kZone, {"a"}));
  EXPECT_THAT(Rate(pod), ElementsAre(25, 25, 75));
}

TEST_F(DataLocalityTest, PodsWithoutDataSkipThePlugin) {
  EXPECT_TRUE(cluster.PreScore(*plugin, MakePod()).skip());
  EXPECT_FALSE(cluster.PreScore(*plugin, Annotated({{kHosts, "n1"}})).skip());
}

TEST_F(DataLocalityTest, NodesThatComeAndGoAreFound) {
  const api::Pod pod = Annotated({{kHosts, "n4"}});
  EXPECT_THAT(Rate(pod), ElementsAre());
  cluster.Add(MakeNode("n4").Zone("b"));
  EXPECT_THAT(Rate(pod), ElementsAre(0, 0, 50, 100));
  cluster.nodes().Remove(cluster.RowOf("n4"));
  EXPECT_THAT(Rate(pod), ElementsAre());
}

TEST_F(DataLocalityTest, HostileAnnotationsCostLittleAndAreCounted) {
  metrics::Registry registry;
  cluster.handle().metrics = &registry;
  const auto first = std::exchange(plugin, cluster.Make<DataLocality>("{maxEntries: 2}"));
  EXPECT_THAT(Rate(Annotated({{kHosts, "n1,n3,n2"}})), ElementsAre(100, 50, 100));
  EXPECT_THAT(registry.Expose(), HasSubstr("berth_data_locality_ignored_entries_total 1\n"));
  std::string long_list = std::string(300, 'x') + ",n3,";
  while (long_list.size() < 200'000) long_list += "n1,";
  EXPECT_THAT(Rate(Annotated({{kHosts, long_list}})), ElementsAre(100, 50, 100));
  // Of the first 16 KiB all entries of n1 but one; the long name; the rest of the text; and n2 above.
  const std::size_t names = (kLongestList - 304) / 3;
  EXPECT_THAT(registry.Expose(),
              HasSubstr(fmt::format("berth_data_locality_ignored_entries_total {}\n", names - 1 + 3)));
}

TEST_F(DataLocalityTest, ThePluginRequestsItsAnnotations) {
  EXPECT_THAT(cluster.handle().annotations, ElementsAre(kHosts, kReads));
}

TEST(DataLocalityArgs, InvalidArgumentsAreErrors) {
  const struct {
    std::string text, error;
  } cases[] = {
      {"{hostsAnnotation: 'a b'}", "args.hostsAnnotation: Invalid value: \"a b\""},
      {"{zoneLabel: '/'}", "args.zoneLabel: Invalid value"},
      {"{hostsWeight: -1}", "args.hostsWeight: Invalid value: -1: must be between 0 and 100"},
      {"{hostsWeight: 0, volumesWeight: 0}", "one of the weights must be greater than zero"},
      {"{zoneScore: 101}", "args.zoneScore: Invalid value: 101"},
      {"{maxEntries: 257}", "args.maxEntries: Invalid value: 257: must be between 1 and 256"},
      {"{maxEntries: 0}", "args.maxEntries: Invalid value: 0"},
      {"{hosts: a}", "unknown field \"hosts\""},
  };
  for (const auto& [text, error] : cases) {
    const auto value = yaml::ParseValue(text);
    const auto args = ParseDataLocalityArgs({&*value, "args"});
    ASSERT_FALSE(args) << text;
    EXPECT_THAT(args.error().message, HasSubstr(error)) << text;
  }
}

}  // namespace
}  // namespace berth::plugins
