#include "scheduler/plugins/gpu_fragmentation/gpu_fragmentation.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json_fields.hpp"
#include "base/random.hpp"
#include "kubernetes/api/decode.hpp"
#include "scheduler/devices/cluster_devices.hpp"
#include "testing/cluster.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::NodeBuilder;
using berth::testing::NodeScores;
using berth::testing::PodBuilder;
using ::testing::HasSubstr;

constexpr auto kGpu = "nvidia.com/gpu";

template <class T>
T Read(const std::string& json) {
  auto object = api::Decoder().Object<T>(json);
  EXPECT_TRUE(object) << (object ? "" : object.error().message) << "\n" << json;
  return *std::move(object);
}

NodeBuilder GpuNode(const std::string& name, const char* gpus, const char* cpu = "16") {
  return MakeNode(name).Cpu(cpu).Memory("64Gi").Pods("110").Allocatable(kGpu, gpus);
}

PodBuilder GpuPod(const std::string& name, const char* gpus) { return MakePod(name).Request(kGpu, gpus); }

std::string TextOf(framework::SavedStatePlugin& plugin) { return (*plugin.SaveState())(); }

// --- extended resources ---

// Two typical pods: 2 GPUs and 4 cores (weight 3), 1 GPU and 8 cores (weight 1).
constexpr auto kMix = "mix: [{weight: 3, cpu: 4, gpus: 2}, {weight: 1, cpu: '8', gpus: 1}]";

std::string Published(const std::string& more = kMix) { return "formula: Published, " + more; }

struct ScoreCase {
  std::string name;
  api::Pod pod;
  // By node: the usable GPUs that are lost.
  std::map<std::string, double> lost;
};

// Nodes with 4 GPUs and 16 cores, of which are free: "one" 1 GPU, "two" 2 GPUs, "cpu" 4 GPUs and 8 cores,
// "full" no GPU. Usable by the published formula: one 0 * 3/4 + 1 * 1/4, two 2, cpu 4.
TEST(GpuFragmentation, ScoresAreTheUsableGpusThatAPodLeaves) {
  Cluster cluster;
  for (const auto* name : {"one", "two", "cpu", "full"}) cluster.Add(GpuNode(name, "4"));
  cluster.Run("one", GpuPod("a", "3")).Run("two", GpuPod("b", "2")).Run("cpu", MakePod("c").Cpu("8"));
  cluster.Run("full", GpuPod("d", "4"));
  const ScoreCase cases[] = {
      // "one" loses what only the second class could use, "two" 2 * 3/4 and one of two for the second class.
      {"a GPU", GpuPod("pod", "1"), {{"one", 0.25}, {"two", 1.75}, {"cpu", 1}, {"full", -1}}},
      {"two GPUs", GpuPod("pod", "2"), {{"one", -1}, {"two", 2}, {"cpu", 2}, {"full", -1}}},
      // Five of eight free cores are too few for both classes.
      {"CPU for which GPUs wait", MakePod("pod").Cpu("5"), {{"one", 0}, {"two", 0}, {"cpu", 4}, {"full", 0}}},
      {"half of it", MakePod("pod").Cpu("4"), {{"one", 0}, {"two", 0}, {"cpu", 1}, {"full", 0}}},
      {"nothing", MakePod("pod"), {{"one", 0}, {"two", 0}, {"cpu", 0}, {"full", 0}}},
  };
  const auto plugin = cluster.Make<GpuFragmentation>("{" + Published() + "}");
  for (const ScoreCase& row : cases) {
    SCOPED_TRACE(row.name);
    NodeScores expected;
    for (const auto& [node, lost] : row.lost) expected[node] = lost < 0 ? 0 : std::llround(1e9 / (1 + lost));
    EXPECT_EQ(cluster.RawScores(*plugin, row.pod), expected);
  }
}

TEST(GpuFragmentation, TheBalancedFormulaCountsCpuBeforeItIsTooLittle) {
  Cluster cluster;
  cluster.Add(GpuNode("n", "4", "16"));
  // 4 GPUs, 16 cores; pods with 4 cores and a GPU: all GPUs are usable, afterwards 3.
  const auto balanced = cluster.Make<GpuFragmentation>("{mix: [{cpu: 4, gpus: 1}]}");
  const auto published = cluster.Make<GpuFragmentation>("{" + Published("mix: [{cpu: 4, gpus: 1}]") + "}");
  const api::Pod pod = MakePod("pod").Cpu("6");  // 10 cores are left: 2.5 tasks
  EXPECT_EQ(cluster.RawScores(*balanced, pod), (NodeScores{{"n", std::llround(1e9 / 2.5)}}));
  EXPECT_EQ(cluster.RawScores(*published, pod), (NodeScores{{"n", 1'000'000'000}}));
}

TEST(GpuFragmentation, TheBestNodeGetsOneHundred) {
  Cluster cluster;
  cluster.Add(GpuNode("one", "1")).Add(GpuNode("two", "2"));
  const auto plugin = cluster.Make<GpuFragmentation>("{" + Published("mix: [{gpus: 2}]") + "}");
  // A single GPU is of no use for pods with two.
  EXPECT_EQ(cluster.Scores(*plugin, GpuPod("pod", "1")), (NodeScores{{"one", 100}, {"two", 33}}));
}

TEST(GpuFragmentation, LearnsTheMixFromThePodsOnNodes) {
  Cluster cluster;
  cluster.Add(GpuNode("one", "1")).Add(GpuNode("two", "2")).Add(GpuNode("other", "8"));
  const auto plugin = cluster.Make<GpuFragmentation>("{formula: Published}");
  const api::Pod pod = GpuPod("pod", "1");
  EXPECT_EQ(cluster.Scores(*plugin, pod), (NodeScores{{"one", 0}, {"two", 0}, {"other", 0}}))
      << "no pod requests GPUs";
  cluster.Run("other", MakePod("plain").Cpu("1"));
  EXPECT_EQ(cluster.Scores(*plugin, pod), (NodeScores{{"one", 0}, {"two", 0}, {"other", 0}}));
  const std::uint64_t before = cluster.nodes().node_changes();
  cluster.Run("other", GpuPod("pair", "2"));
  EXPECT_GT(cluster.nodes().node_changes(), before) << "cached results are invalid";
  // Of the six free GPUs of "other" five remain usable.
  EXPECT_EQ(cluster.Scores(*plugin, pod), (NodeScores{{"one", 100}, {"two", 33}, {"other", 50}}));
}

// Pods of many kinds: the mix has the most frequent ones, and changes after a tenth of the pods has changed.
TEST(GpuFragmentation, TheLearnedMixHasTheMostFrequentPods) {
  Cluster cluster;
  cluster.Add(GpuNode("n", "1000"));
  GpuFragmentationArgs args;
  const GpuDemands demands(args, cluster.handle());
  WorkloadMix mix(cluster.handle(), demands, 2);
  const auto run = [&](int pods, const char* gpus) {
    for (int i = 0; i < pods; ++i)
      cluster.Run("n", GpuPod(fmt::format("p-{}-{}", gpus, i), gpus).Uid(fmt::format("{}-{}", gpus, i)));
  };
  run(20, "1");
  run(60, "2");
  run(20, "4");
  mix.Refresh();
  EXPECT_EQ(mix.counted(), 100u);
  ASSERT_EQ(mix.typical().size(), 2u);
  EXPECT_EQ(mix.typical()[0].demand.requests.front().second, 2);
  EXPECT_GT(mix.typical()[0].weight, 0.7);
  EXPECT_DOUBLE_EQ(mix.typical()[0].weight + mix.typical()[1].weight, 1);
  const std::uint64_t version = mix.version();
  run(1, "8");
  mix.Refresh();
  EXPECT_EQ(mix.version(), version) << "one pod of a hundred";
}

TEST(GpuFragmentation, PlacementsThatTheSearchForAGroupTakesBackAreNoChangeOfTheMix) {
  Cluster cluster;
  cluster.Add(GpuNode("n", "1000"));
  GpuFragmentationArgs args;
  const GpuDemands demands(args, cluster.handle());
  WorkloadMix mix(cluster.handle(), demands, 2);
  for (int i = 0; i < 10; ++i) cluster.Run("n", GpuPod(fmt::format("p{}", i), "1").Uid(fmt::format("{}", i)));
  mix.Refresh();
  const api::PodPtr member = GpuPod("member", "2").Uid("member").Group("g").Share();
  cluster.groups().Put(member);
  cluster::PlacedPod placed;
  placed.pod = member;
  placed.takes = cluster::UseOf(*member, cluster.symbols());
  const cluster::Row row = cluster.RowOf("n");
  const std::uint64_t before = cluster.nodes().node_changes();
  for (int i = 0; i < 10; ++i) {
    cluster.nodes().AddPod(row, placed);
    EXPECT_EQ(mix.counted(), 10U);
    cluster.nodes().RemovePod(row, placed);
  }
  EXPECT_EQ(cluster.nodes().node_changes(), before);
  cluster.nodes().AddPod(row, placed);
  cluster.groups().Assume(*member, "n");
  cluster.Run("n", MakePod("plain").Uid("plain"));
  EXPECT_EQ(mix.counted(), 11U);
  cluster.nodes().RemovePod(row, placed);
}

// A node is removed and added with its pods, whose order differs after a restart.
TEST(GpuFragmentation, TheOrderOfPodsWithinAChangeHasNoInfluenceOnTheMix) {
  const std::vector<std::vector<const char*>> orders = {{"1", "1", "1", "2", "4"}, {"4", "2", "1", "1", "1"}};
  std::vector<std::string> mixes;
  for (const std::vector<const char*>& order : orders) {
    Cluster cluster;
    cluster.Add(GpuNode("n", "1000"));
    GpuFragmentationArgs args;
    const GpuDemands demands(args, cluster.handle());
    WorkloadMix mix(cluster.handle(), demands, 2);
    int number = 0;
    for (const char* gpus : order) {
      const std::string name = fmt::format("{}-{}", gpus, ++number);
      cluster.Run("n", GpuPod(name, gpus).Uid(name));
    }
    mix.Refresh();
    mixes.push_back(WriteJsonFields(*mix.Save()));
  }
  EXPECT_EQ(mixes[0], mixes[1]);
}

TEST(GpuFragmentation, WithTooManyKindsOfPodsTheMixIsNotSaved) {
  Cluster cluster;
  cluster.Add(GpuNode("n", "10000"));
  GpuFragmentationArgs args;
  const GpuDemands demands(args, cluster.handle());
  WorkloadMix mix(cluster.handle(), demands, 2);
  const auto run = [&](std::size_t number) {
    const std::string name = fmt::format("p{}", number);
    cluster.Run("n", GpuPod(name, "1").Uid(name).Cpu(fmt::format("{}m", number + 1)));
  };
  for (std::size_t i = 0; i < WorkloadMix::kMostDemands; ++i) run(i);
  EXPECT_TRUE(mix.Save().has_value());
  run(WorkloadMix::kMostDemands);
  const auto saved = mix.Save();
  ASSERT_FALSE(saved.has_value());
  EXPECT_THAT(saved.error().message, HasSubstr("more than 4096 ways"));
}

// --- recordings ---

// Runs pods until the mix of the plugin is not the one that a new plugin computes.
TEST(GpuFragmentation, ARestoredPluginContinuesAsTheSavedOne) {
  Cluster cluster;
  cluster.Add(GpuNode("one", "1")).Add(GpuNode("two", "2")).Add(GpuNode("other", "1000"));
  const std::string args = "{formula: Published}";
  const auto plugin = cluster.Make<GpuFragmentation>(args);
  int number = 0;
  const auto run = [&](int pods, const char* gpus) {
    for (int i = 0; i < pods; ++i) {
      const std::string name = fmt::format("{}-{}", gpus, ++number);
      cluster.Run("other", GpuPod(name, gpus).Uid(name));
    }
  };
  const auto scores = [&](const GpuFragmentation& of) { return cluster.RawScores(of, GpuPod("pod", "1")); };
  run(30, "1");
  run(10, "2");
  scores(*plugin);
  run(4, "4");
  const std::string text = TextOf(*plugin);
  EXPECT_EQ(TextOf(*plugin), text);
  const auto fresh = cluster.Make<GpuFragmentation>(args), restored = cluster.Make<GpuFragmentation>(args);
  EXPECT_TRUE(restored->RestoreState(text).has_value());
  EXPECT_EQ(TextOf(*restored), text);
  EXPECT_NE(scores(*fresh), scores(*plugin)) << "4 of 44 pods have come since";
  EXPECT_EQ(scores(*restored), scores(*plugin));
  run(1, "4");  // more than a tenth
  EXPECT_EQ(scores(*restored), scores(*plugin));
  EXPECT_NE(TextOf(*plugin), text);
}

TEST(GpuFragmentation, ATextThatIsNoStateIsAnError) {
  Cluster cluster;
  cluster.Add(GpuNode("n", "100"));
  for (int i = 0; i < 20; ++i) {
    const std::string name = fmt::format("p{}", i);
    cluster.Run("n", GpuPod(name, "1").Uid(name));
  }
  const auto learned = cluster.Make<GpuFragmentation>("{mostClasses: 2}");
  const auto given = cluster.Make<GpuFragmentation>("{mix: [{gpus: 1}]}");
  const auto request = [](const char* members) {
    return fmt::format(R"({{"learned":{{"typical":[{{"weight":"1","demand":{{"requests":[{{{}}}]}}}}]}}}})",
                       members);
  };
  const struct {
    const GpuFragmentation& plugin;
    std::string text, error;
  } cases[] = {
      {*learned, "{}", "learned: expected as in the arguments"},
      {*given, R"({"learned":{}})", "learned: expected as in the arguments"},
      {*learned, R"({"learned":{"changes":"1152921504606846977"}})", "changes: expected at most 2^60"},
      {*learned, R"({"learned":{"typical":[{"weight":"0.5","demand":{}}]}})", "weight: expected a sum of 1"},
      {*learned, R"({"learned":{"typical":[{"weight":"2","demand":{}}]}})", "weight: expected a part of 1"},
      {*learned, R"({"learned":{"typical":[{"weight":"0.5"},{"weight":"0.25"},{"weight":"0.25"}]}})",
       "typical: expected at most 2"},
      {*learned, request(R"("index":1,"count":1)"), "requests: expected names of the arguments"},
      {*learned, request(R"("class":true,"index":7,"count":1)"), "requests: expected names of the arguments"},
      {*learned, request(R"("count":-1)"), "requests: expected a positive count"},
      {*learned, request(R"("count":1,"capacity":[["a","x"]])"), "quantit"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.text);
    const auto result = const_cast<GpuFragmentation&>(test.plugin).RestoreState(test.text);
    ASSERT_FALSE(result.has_value());
    EXPECT_THAT(result.error().message, HasSubstr(test.error));
  }
}

// --- devices ---

constexpr auto kClaimMix = "deviceClasses: [gpu], capacity: milli, formula: Published, mix: [{gpus: 1}]";

class GpuDevices : public ::testing::Test {
 protected:
  GpuDevices() {
    cluster_.Put(Read<api::DeviceClass>(R"({"metadata": {"name": "gpu"}, "spec": {"selectors": [
      {"cel": {"expression": "device.driver == 'd'"}}]}})"));
  }
  // Two GPUs that can be shared, and a network card.
  void AddNode(const std::string& name) {
    cluster_.Add(MakeNode(name).Cpu("16").Memory("64Gi").Pods("110"));
    const auto gpu = [](const std::string& device) {
      return fmt::format(R"({{"name": "{}", "allowMultipleAllocations": true,
        "attributes": {{"model": {{"string": "a"}}, "serial": {{"string": "{}"}}}}, "capacity": {{"milli":
        {{"value": "1000", "requestPolicy": {{"default": "1000", "validRange": {{"min": "1"}}}}}}}}}})",
                         device, device);
    };
    cluster_.Put(Read<api::ResourceSlice>(
        fmt::format(R"({{"metadata": {{"name": "{0}"}}, "spec": {{"driver": "d", "nodeName": "{0}",
        "pool": {{"name": "{0}", "resourceSliceCount": 1}}, "devices": [{1}, {2}]}}}})",
                    name, gpu("g0"), gpu("g1"))));
    cluster_.Put(Read<api::ResourceSlice>(
        fmt::format(R"({{"metadata": {{"name": "{0}-net"}}, "spec": {{"driver": "net", "nodeName": "{0}",
        "pool": {{"name": "net-{0}", "resourceSliceCount": 1}}, "devices": [{{"name": "eth"}}]}}}})",
                    name)));
  }
  // A claim for `milli` of a GPU; with a device, it is allocated on the node.
  void PutClaim(const std::string& name, int milli, const std::string& node = "",
                const std::string& device = "", const std::string& more = "") {
    std::string status = "{}";
    if (!node.empty()) {
      status = fmt::format(
          R"({{"allocation": {{"devices": {{"results": [{{"request": "r", "driver": "d", "pool": "{}",
          "device": "{}", "shareID": "{}", "consumedCapacity": {{"milli": "{}"}}}}]}}}},
          "reservedFor": [{{"resource": "pods", "name": "{}", "uid": "uid-of-{}"}}]}})",
          node, device, name, milli, name, name);
    }
    cluster_.Put(Read<api::ResourceClaim>(fmt::format(
        R"({{"metadata": {{"namespace": "default", "name": "{0}", "uid": "{0}"}}, "spec": {{"devices": {{"requests":
        [{{"name": "r", "exactly": {{"deviceClassName": "gpu"{2}, "capacity": {{"requests": {{"milli": "{1}"}}}}}}}}]}}}},
        "status": {3}}})",
        name, milli, more, status)));
  }
  static api::Pod PodWith(const std::string& claim) {
    api::Pod pod = MakePod("pod-" + claim).Uid("uid-of-" + claim);
    pod.spec.resource_claims = {{claim, claim, std::nullopt}};
    return pod;
  }

  Cluster cluster_;
};

// Of two free GPUs, whole GPUs are typical: a part of a GPU costs one, unless another pod shares it already.
TEST_F(GpuDevices, ASharedDeviceCostsNothingMore) {
  AddNode("free");
  AddNode("shared");
  PutClaim("other", 400, "shared", "g0");
  PutClaim("half", 500);
  PutClaim("most", 700);
  const auto plugin = cluster_.Make<GpuFragmentation>(fmt::format("{{{}}}", kClaimMix));
  EXPECT_EQ(cluster_.RawScores(*plugin, PodWith("half")),
            (NodeScores{{"free", 500'000'000}, {"shared", 1'000'000'000}}));
  EXPECT_EQ(cluster_.RawScores(*plugin, PodWith("most")),
            (NodeScores{{"free", 500'000'000}, {"shared", 500'000'000}}));
}

TEST_F(GpuDevices, TheChoiceOfTheDeviceCounts) {
  AddNode("n");
  PutClaim("other", 400, "n", "g1");
  PutClaim("half", 500);
  const std::string args = kClaimMix;
  const auto listed = cluster_.Make<GpuFragmentation>("{" + args + "}");
  const auto least = cluster_.Make<GpuFragmentation>("{deviceChoice: LeastWaste, " + args + "}");
  EXPECT_EQ(cluster_.RawScores(*listed, PodWith("half")), (NodeScores{{"n", 500'000'000}}));
  EXPECT_EQ(cluster_.RawScores(*least, PodWith("half")), (NodeScores{{"n", 1'000'000'000}}));
  // DynamicResources reads the mark.
  EXPECT_TRUE(cluster_.PreFilter(*listed, PodWith("half")).status.skip());
  EXPECT_FALSE(cluster_.state().Has(cluster_.handle().least_waste));
  EXPECT_TRUE(cluster_.PreFilter(*least, PodWith("half")).status.skip());
  EXPECT_TRUE(cluster_.state().Has(cluster_.handle().least_waste));
}

TEST_F(GpuDevices, AllocationsOfOtherPodsAreFollowedWithoutAChangeOfTheRow) {
  AddNode("n");
  PutClaim("half", 500);
  const auto plugin =
      cluster_.Make<GpuFragmentation>("{deviceChoice: LeastWaste, " + std::string(kClaimMix) + "}");
  EXPECT_EQ(cluster_.RawScores(*plugin, PodWith("half")), (NodeScores{{"n", 500'000'000}}));
  PutClaim("other", 100, "n", "g0");
  EXPECT_EQ(cluster_.RawScores(*plugin, PodWith("half")), (NodeScores{{"n", 1'000'000'000}}));
  PutClaim("other", 100);
  EXPECT_EQ(cluster_.RawScores(*plugin, PodWith("half")), (NodeScores{{"n", 500'000'000}}));
  EXPECT_EQ(plugin->ScoreDependency(cluster_.Prepare(MakePod("plain"))),
            framework::ResultDependency::kEverything);
}

TEST_F(GpuDevices, SelectorsOfTypicalPodsCount) {
  AddNode("n");
  PutClaim("half", 500);
  const auto rate = [&](const std::string& model) {
    const auto plugin = cluster_.Make<GpuFragmentation>(fmt::format(
        "{{deviceClasses: [gpu], capacity: milli, formula: Published, mix: [{{gpus: 1, selectors: "
        "[\"device.attributes['d'].model == '{}'\"]}}]}}",
        model));
    return cluster_.RawScores(*plugin, PodWith("half")).at("n");
  };
  EXPECT_EQ(rate("a"), 500'000'000);
  EXPECT_EQ(rate("b"), 1'000'000'000) << "the GPU is of no use for typical pods";
}

// An ask that tells devices apart arrives after they were read as one model.
TEST_F(GpuDevices, SelectorsOfAPodTellDevicesOfOneModelApart) {
  AddNode("n");
  PutClaim("other", 400, "n", "g1");
  PutClaim("any", 500);
  PutClaim("second", 500, "", "",
           R"(, "selectors": [{"cel": {"expression": "device.attributes['d'].serial == 'g1'"}}])");
  PutClaim("none", 500, "", "",
           R"(, "selectors": [{"cel": {"expression": "device.attributes['d'].serial == 'g2'"}}])");
  const auto plugin = cluster_.Make<GpuFragmentation>(fmt::format("{{{}}}", kClaimMix));
  EXPECT_EQ(cluster_.RawScores(*plugin, PodWith("any")), (NodeScores{{"n", 500'000'000}}));
  EXPECT_EQ(cluster_.RawScores(*plugin, PodWith("second")), (NodeScores{{"n", 1'000'000'000}}));
  EXPECT_EQ(cluster_.RawScores(*plugin, PodWith("none")), (NodeScores{{"n", 0}})) << "no device";
}

TEST_F(GpuDevices, APodWithLongSelectorsIsNotRated) {
  AddNode("n");
  const auto plugin = cluster_.Make<GpuFragmentation>(fmt::format("{{{}}}", kClaimMix));
  const auto rate = [&](const std::string& claim, std::size_t length) {
    PutClaim(
        claim, 500, "", "",
        fmt::format(R"(, "selectors": [{{"cel": {{"expression": "true{}"}}}}])", std::string(length, ' ')));
    return cluster_.RawScores(*plugin, PodWith(claim)).at("n");
  };
  EXPECT_EQ(rate("short", 10), 500'000'000);
  EXPECT_EQ(rate("long", WorkloadMix::kLongestKey), 0);
}

TEST_F(GpuDevices, ADemandWithTooLongAKeyIsNotReadToTheEnd) {
  GpuFragmentationArgs args;
  args.device_classes = {"gpu"};
  const GpuDemands demands(args, cluster_.handle());
  const auto is_read = [&](const std::string& claim, std::size_t length) {
    PutClaim(
        claim, 500, "", "",
        fmt::format(R"(, "selectors": [{{"cel": {{"expression": "true{}"}}}}])", std::string(length, ' ')));
    const cluster::PodInfo pod = cluster_.Prepare(PodWith(claim));
    return demands.Of(*pod.pod, pod.fit(), GpuDemands::Claims::kAll).has_value();
  };
  EXPECT_TRUE(is_read("short", 10));
  EXPECT_FALSE(is_read("long", GpuDemands::kLongestKey));
}

TEST_F(GpuDevices, TooManySelectorsAreForgottenBesidesThoseOfTheMix) {
  GpuFragmentationArgs args;
  args.device_classes = {"gpu"};
  const GpuDemands demands(args, cluster_.handle());
  GpuCatalog catalog(args, demands, cluster_.handle());
  int number = 0;
  const auto add = [&](std::size_t bytes) {
    const std::string selector = fmt::format("{:{}}", ++number, bytes);
    catalog.AskOf({.kind = GpuAsk::Kind::kClass, .selectors = {selector}, .key = selector});
  };
  const auto is_kept = [&] {
    const std::uint64_t before = catalog.ask_epoch();
    catalog.Refresh();
    return catalog.ask_epoch() == before;
  };
  add(GpuCatalog::kMostSelectorBytes + 1);
  catalog.ExemptKnownAsks();
  for (std::size_t i = 0; i < GpuCatalog::kMostAsks; ++i) add(10);
  EXPECT_TRUE(is_kept());
  add(10);
  EXPECT_FALSE(is_kept()) << "too many";
  EXPECT_EQ(catalog.needs().asks(), 0U);
  add(GpuCatalog::kMostSelectorBytes + 1);
  EXPECT_FALSE(is_kept()) << "too long";
}

TEST_F(GpuDevices, AnAllocatedClaimTakesNothingMore) {
  AddNode("n");
  PutClaim("mine", 1000, "n", "g0");
  const auto plugin = cluster_.Make<GpuFragmentation>(fmt::format("{{{}}}", kClaimMix));
  EXPECT_EQ(cluster_.RawScores(*plugin, PodWith("mine")), (NodeScores{{"n", 1'000'000'000}}));
}

TEST_F(GpuDevices, PodsAreLearnedWhenTheirClaimsArrive) {
  AddNode("n");
  const auto plugin = cluster_.Make<GpuFragmentation>("{deviceClasses: [gpu], capacity: milli}");
  cluster_.Run("n", PodWith("late"));
  PutClaim("half", 500);
  EXPECT_EQ(cluster_.RawScores(*plugin, PodWith("half")), (NodeScores{{"n", 0}})) << "no mix yet";
  PutClaim("late", 1000, "n", "g0");
  EXPECT_EQ(cluster_.RawScores(*plugin, PodWith("half")), (NodeScores{{"n", 500'000'000}}));
}

TEST_F(GpuDevices, APodCountsWhileItsClaimsExist) {
  AddNode("n");
  GpuFragmentationArgs args;
  args.device_classes = {"gpu"};
  const GpuDemands demands(args, cluster_.handle());
  WorkloadMix mix(cluster_.handle(), demands, 2);
  api::Pod pod = PodWith("a");
  pod.spec.resource_claims = {{"a", "a", std::nullopt}, {"b", "b", std::nullopt}};
  cluster_.Run("n", pod);
  PutClaim("a", 500);
  EXPECT_EQ(mix.counted(), 0u) << "b is missing";
  PutClaim("b", 500);
  EXPECT_EQ(mix.counted(), 1u);
  PutClaim("b", 500, "n", "g0");
  EXPECT_EQ(mix.counted(), 1u) << "it is allocated";
  cluster_.objects().Apply(ports::Change<api::ResourceClaim>{
      cluster_.objects().Of<api::ResourceClaim>().Find("default", "a"), nullptr});
  EXPECT_EQ(mix.counted(), 0u) << "a is deleted";
  PutClaim("a", 250);
  mix.Refresh();
  ASSERT_EQ(mix.typical().size(), 1u);
  EXPECT_EQ(mix.typical()[0].demand.requests[0].first.capacity->at("milli").Canonical(), "250");
}

// Selectors tell models apart, and requests of a capacity are restored, too.
TEST_F(GpuDevices, AMixOfClaimsIsRestored) {
  AddNode("n");
  AddNode("m");
  const std::string args = "{deviceClasses: [other, gpu], capacity: milli}";
  const auto plugin = cluster_.Make<GpuFragmentation>(args);
  PutClaim("part", 300);
  PutClaim("serial", 700, "", "",
           R"(, "selectors": [{"cel": {"expression": "device.attributes['d'].serial == 'g1'"}}])");
  PutClaim("mine", 400, "n", "g0");
  PutClaim("wanted", 500);
  for (const char* claim : {"part", "serial", "mine"}) cluster_.Run("n", PodWith(claim));
  cluster_.RawScores(*plugin, PodWith("wanted"));
  const std::string text = TextOf(*plugin);
  const auto restored = cluster_.Make<GpuFragmentation>(args);
  cluster_.RawScores(*restored, PodWith("wanted"));
  EXPECT_TRUE(restored->RestoreState(text).has_value());
  EXPECT_EQ(TextOf(*restored), text);
  EXPECT_EQ(cluster_.RawScores(*restored, PodWith("wanted")), cluster_.RawScores(*plugin, PodWith("wanted")));
  for (const char* part : {"serial == 'g1'", R"(["milli","700"])", R"("class":true)", R"("index":1)"})
    EXPECT_THAT(text, HasSubstr(part));
}

// Otherwise a scheduler and one that continues from its recording would differ: only the former is at the
// limit of models.
TEST_F(GpuDevices, ModelsOfDevicesThatAreGoneAreForgottenWhenTheStateIsSaved) {
  cluster_.Add(MakeNode("many").Cpu("16").Memory("64Gi").Pods("110"));
  const auto put_slice = [&](std::size_t count) {
    std::string devices;
    for (std::size_t i = 1; i <= count; ++i) {
      devices += fmt::format(R"({}{{"name": "g{}", "capacity": {{"memory": {{"value": "{}"}}}}}})",
                             i == 1 ? "" : ", ", i, i);
    }
    cluster_.Put(Read<api::ResourceSlice>(
        fmt::format(R"({{"metadata": {{"name": "many"}}, "spec": {{"driver": "d", "nodeName": "many",
        "pool": {{"name": "many", "resourceSliceCount": 1}}, "devices": [{}]}}}})",
                    devices)));
  };
  put_slice(GpuCatalog::kMostModels);
  PutClaim("half", 500);
  const auto plugin = cluster_.Make<GpuFragmentation>(fmt::format("{{{}}}", kClaimMix));
  cluster_.RawScores(*plugin, PodWith("half"));
  put_slice(0);
  AddNode("late");
  EXPECT_EQ(cluster_.RawScores(*plugin, PodWith("half")).at("late"), 0) << "its model is beyond the limit";
  TextOf(*plugin);
  EXPECT_EQ(cluster_.RawScores(*plugin, PodWith("half")).at("late"), 500'000'000);
}

// --- kept results ---

// A plugin that has seen all changes gives the same scores as a new one.
TEST(GpuFragmentation, KeptResultsEqualNewOnes) {
  Random random(7);
  Cluster cluster;
  for (int i = 0; i < 6; ++i) {
    cluster.Add(GpuNode(fmt::format("n{}", i), i % 2 == 0 ? "4" : "8", i % 3 == 0 ? "16" : "64"));
  }
  const std::string args =
      "{mix: [{weight: 2, cpu: 4, memory: 8Gi, gpus: 1}, {cpu: 16, gpus: 4}, {gpus: 8}]}";
  const auto kept = cluster.Make<GpuFragmentation>(args);
  int different = 0;
  NodeScores last;
  for (int step = 0; step < 300; ++step) {
    const std::string gpus = std::to_string(random.Below(3)), cpu = std::to_string(1 + random.Below(3));
    const PodBuilder pod = MakePod("pod").Cpu(cpu).Request(kGpu, gpus);
    const NodeScores scores = cluster.RawScores(*kept, pod);
    ASSERT_EQ(scores, cluster.RawScores(*cluster.Make<GpuFragmentation>(args), pod)) << "step " << step;
    different += scores != last ? 1 : 0;
    last = scores;
    if (random.Below(3) > 0) continue;
    const std::string name = fmt::format("p{}", step);
    cluster.Run(fmt::format("n{}", random.Below(6)), MakePod(name).Uid(name).Cpu(cpu).Request(kGpu, gpus));
  }
  EXPECT_GT(different, 100);
}

// --- explanations and arguments ---

TEST(GpuFragmentation, ExplanationsShowTheFragmentationAfterThePlacement) {
  Cluster cluster;
  cluster.Add(GpuNode("two", "2")).Add(GpuNode("three", "3"));
  const auto plugin = cluster.Make<GpuFragmentation>("{" + Published("mix: [{gpus: 2}]") + "}");
  const cluster::PodInfo pod = cluster.Prepare(GpuPod("pod", "1"));
  framework::ScratchPool scratch;
  const framework::Attempt attempt(pod, cluster.nodes(), cluster.state(), scratch);
  const auto parts = plugin->ScoreParts(attempt, cluster.nodes().all());
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].name, "fragmentation");
  EXPECT_EQ(parts[0].note, "typical pods of 1 kind(s)");
  EXPECT_EQ(parts[0].load[cluster.RowOf("two")], 100);  // one GPU is left, which is of no use
  EXPECT_EQ(parts[0].load[cluster.RowOf("three")], 0);
  EXPECT_EQ(parts[0].score[cluster.RowOf("three")], 100);
}

TEST(GpuFragmentationArgs, MistakesAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"{resources: [], deviceClasses: []}",
       "profiles[0].pluginConfig[0].args.resources: Required value: resources or deviceClasses must be "
       "given"},
      {"{resources: [a, a]}", "args.resources[1]: Duplicate value: \"a\""},
      {"{deviceChoice: leastWaste}",
       "deviceChoice: Unsupported value: \"leastWaste\": supported values: \"Listed\", \"LeastWaste\""},
      {"{formula: Paper}",
       "formula: Unsupported value: \"Paper\": supported values: \"Balanced\", \"Published\""},
      {"{mostClasses: 257}", "args.mostClasses: Invalid value: 257: must be from 1 to 256"},
      {"{mix: [{weight: 0}]}",
       "args.mix[0].weight: Invalid value: 0: must be greater than 0 and at most 1000000000"},
      {"{mix: [{cpu: many}]}",
       "args.mix[0].cpu: Invalid value: \"many\": must be a quantity, for example 4 or 16Gi"},
      {"{mix: [{memory: [1]}]}", "mix[0].memory: Invalid value: must be a quantity, for example 4 or 16Gi"},
      {"{mix: [{memory: -1}]}", "args.mix[0].memory: Invalid value: \"-1\": must be at least 0"},
      {"{mix: [{gpus: 0}]}", "args.mix[0].gpus: Invalid value: 0: must be from 1 to 1024"},
      {"{share: 1}", "unknown field \"share\""},
  };
  for (const auto& [args, text] : cases) {
    Cluster cluster;
    const auto made = cluster.TryMake<GpuFragmentation>(args);
    ASSERT_FALSE(made) << args;
    EXPECT_THAT(made.error().message, HasSubstr(text));
  }
}

}  // namespace
}  // namespace berth::plugins
