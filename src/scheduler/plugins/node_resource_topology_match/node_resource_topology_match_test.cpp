#include "scheduler/plugins/node_resource_topology_match/node_resource_topology_match.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "scheduler/cluster/row_log.hpp"
#include "testing/cluster.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::NodeScores;
using berth::testing::PodBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using ResourceTexts = std::vector<std::pair<std::string, std::string>>;
using Topology = api::NodeResourceTopology;

constexpr auto kDevice = "nvidia.com/gpu";

api::ResourceList AmountsFrom(const ResourceTexts& amounts) {
  api::ResourceList list;
  for (const auto& [name, text] : amounts) list[name] = api::Quantity::Parse(text).value();
  return list;
}

// --- builders ---

class TopologyBuilder {
 public:
  explicit TopologyBuilder(std::string node = "n") { object_.metadata.name = std::move(node); }
  TopologyBuilder& Policy(std::string policy) {
    return Attribute("topologyManagerPolicy", std::move(policy));
  }
  TopologyBuilder& Scope(std::string scope) { return Attribute("topologyManagerScope", std::move(scope)); }
  TopologyBuilder& Attribute(std::string name, std::string value) {
    object_.attributes.push_back({std::move(name), std::move(value)});
    return *this;
  }
  TopologyBuilder& Deprecated(std::string policy) {
    object_.topology_policies.push_back(std::move(policy));
    return *this;
  }
  TopologyBuilder& Zone(const std::string& name, const ResourceTexts& available, std::string type = "Node") {
    Topology::Zone& zone = object_.zones.emplace_back();
    zone.name = name;
    zone.type = std::move(type);
    for (const auto& [resource, amount] : available)
      zone.resources.push_back({resource, api::Quantity::Parse(amount).value()});
    return *this;
  }
  // Of the last zone.
  TopologyBuilder& Distance(std::string to, std::int64_t value) {
    object_.zones.back().costs.push_back({std::move(to), value});
    return *this;
  }
  operator Topology() const { return object_; }  // implicit on purpose

 private:
  Topology object_;
};

TopologyBuilder SingleNuma(const std::string& scope = "container", const std::string& node = "n") {
  return TopologyBuilder(node).Policy("single-numa-node").Scope(scope);
}

// Requests and limits are equal.
api::Container Limited(const std::string& name, const ResourceTexts& amounts) {
  api::Container container;
  container.name = name;
  container.resources.requests = container.resources.limits = AmountsFrom(amounts);
  return container;
}

api::Container Unlimited(const std::string& name, const ResourceTexts& amounts) {
  api::Container container;
  container.name = name;
  container.resources.requests = AmountsFrom(amounts);
  return container;
}

PodBuilder LimitedPod(const ResourceTexts& amounts) { return MakePod().Container(Limited("app", amounts)); }

// A node that has every resource of the tests.
berth::testing::NodeBuilder NumaNode(const std::string& name = "n") {
  return MakeNode(name)
      .Cpu("64")
      .Memory("256Gi")
      .Allocatable(kDevice, "8")
      .Allocatable("hugepages-1Gi", "8Gi");
}

class TopologyMatchTest : public ::testing::Test {
 protected:
  // "" if the node fits.
  std::string Rejection(const api::Pod& pod, const std::string& node = "n") {
    const auto verdict = cluster.Filter(plugin(), pod).at(node);
    if (verdict.code == framework::Code::kSuccess) return "";
    EXPECT_EQ(verdict.code, framework::Code::kUnschedulable);
    return fmt::format("{}", fmt::join(verdict.reasons, ", "));
  }
  std::int64_t Score(const api::Pod& pod, const std::string& node = "n") {
    return cluster.RawScores(plugin(), pod).at(node);
  }
  NodeResourceTopologyMatch& plugin() {
    if (plugin_ == nullptr) plugin_ = cluster.Make<NodeResourceTopologyMatch>(args);
    return *plugin_;
  }
  enum class Step { kReserve, kUnreserve, kPostBind };
  void Do(Step step, const std::string& uid, const std::string& node = "n") {
    const cluster::PodInfo pod = cluster.Prepare(MakePod(uid).Uid(uid));
    framework::CycleState state;
    const framework::Placement placement{pod, node, state};
    if (step == Step::kReserve) {
      EXPECT_TRUE(plugin().Reserve(placement).ok());
    } else if (step == Step::kUnreserve) {
      plugin().Unreserve(placement);
    } else {
      plugin().PostBind(placement);
    }
  }

  Cluster cluster;
  std::string args;
  std::unique_ptr<NodeResourceTopologyMatch> plugin_;
};

const api::Pod kOneCpu = LimitedPod({{"cpu", "1"}, {"memory", "1Gi"}});

// --- filter ---

struct AlignmentCase {
  std::string name;
  Topology topology;
  api::Pod pod;
  std::string rejection;
};

// Two zones with 4 CPUs and 4Gi of memory each; the second one has a GPU.
TopologyBuilder TwoZones(const std::string& scope) {
  return SingleNuma(scope)
      .Zone("node-0", {{"cpu", "4"}, {"memory", "4Gi"}})
      .Zone("node-1", {{"cpu", "4"}, {"memory", "4Gi"}, {kDevice, "1"}});
}

TEST_F(TopologyMatchTest, ANodeIsRejectedIfTheKubeletCouldNotAlignThePod) {
  const api::Container three = Limited("a", {{"cpu", "3"}, {"memory", "1Gi"}});
  const api::Container five = Limited("a", {{"cpu", "5"}, {"memory", "1Gi"}});
  const AlignmentCase cases[] = {
      {"each container fits a zone", TwoZones("container"), MakePod().Container(three).Container(three), ""},
      {"the pod is larger than a zone", TwoZones("pod"), MakePod().Container(three).Container(three),
       "cannot align pod"},
      {"containers share the zones", TwoZones("container"),
       MakePod().Container(three).Container(three).Container(three), "cannot align container"},
      {"a container is larger than a zone", TwoZones("container"), MakePod().Container(five),
       "cannot align container"},
      {"an init container is larger than a zone", TwoZones("container"),
       MakePod().Container(three).Init(five), "cannot align init container"},
      {"a sidecar is larger than a zone", TwoZones("container"), MakePod().Container(three).Sidecar(five),
       "cannot align sidecar container"},
      {"init containers run one after the other", TwoZones("container"),
       MakePod().Container(three).Init(three).Init(three).Init(three), ""},
      {"the pod's maximum of init containers counts", TwoZones("pod"), MakePod().Container(three).Init(five),
       "cannot align pod"},
      {"init containers do not add up", TwoZones("pod"),
       MakePod().Container(three).Init(three).Sidecar(three), ""},
      {"overhead counts for the pod", TwoZones("pod"), MakePod().Container(three).Overhead("cpu", "2"),
       "cannot align pod"},
      {"overhead does not count for containers", TwoZones("container"),
       MakePod().Container(three).Overhead("cpu", "2"), ""},
      {"CPUs and GPU are in one zone", TwoZones("container"),
       LimitedPod({{"cpu", "4"}, {"memory", "1Gi"}, {kDevice, "1"}}), ""},
      {"the zone with the GPU is used up", TwoZones("container"),
       MakePod()
           .Container(Limited("a", {{"cpu", "2"}, {"memory", "1Gi"}, {kDevice, "1"}}))
           .Container(Limited("b", {{"cpu", "4"}, {"memory", "1Gi"}}))
           .Container(Limited("c", {{"cpu", "3"}, {"memory", "1Gi"}})),
       "cannot align container"},
      {"amounts of 0 need nothing", TwoZones("container"),
       LimitedPod({{"cpu", "1"}, {"memory", "1Gi"}, {"hugepages-1Gi", "0"}}), ""},
      {"no zone lists huge pages", TwoZones("container"),
       LimitedPod({{"cpu", "1"}, {"memory", "1Gi"}, {"hugepages-1Gi", "1Gi"}}), "cannot align container"},
      {"devices that no zone lists belong to the host",
       SingleNuma().Zone("node-0", {{"cpu", "4"}, {"memory", "4Gi"}}),
       LimitedPod({{"cpu", "1"}, {"memory", "1Gi"}, {kDevice, "2"}}), ""},
      {"storage belongs to the host", TwoZones("container"),
       LimitedPod({{"cpu", "1"}, {"memory", "1Gi"}, {"ephemeral-storage", "1Gi"}}), ""},
      {"the node has no such device", TwoZones("container"),
       LimitedPod({{"cpu", "1"}, {"memory", "1Gi"}, {"example.com/absent", "1"}}), "cannot align container"},
      {"other policies are not filtered",
       TopologyBuilder().Policy("restricted").Zone("node-0", {{"cpu", "1"}, {"memory", "1Gi"}}),
       MakePod().Container(five), ""},
  };
  cluster.Add(NumaNode());
  for (const AlignmentCase& at : cases) {
    cluster.Put(at.topology);
    EXPECT_EQ(Rejection(at.pod), at.rejection) << at.name;
  }
}

TEST_F(TopologyMatchTest, PodsThatAreNotGuaranteedNeedOnlyDevicesOfAZone) {
  const auto topology = SingleNuma()
                            .Zone("node-0", {{"cpu", "1"}, {"memory", "1Gi"}, {kDevice, "1"}})
                            .Zone("node-1", {{"cpu", "1"}, {kDevice, "1"}});
  const auto one_gpu = [](const char* name) { return Unlimited(name, {{"cpu", "8"}, {kDevice, "1"}}); };
  const std::tuple<std::string, api::Pod, std::string> cases[] = {
      {"CPU and memory are not exclusive",
       MakePod().Container(Unlimited("a", {{"cpu", "8"}, {"memory", "9Gi"}})), ""},
      {"devices are", MakePod().Container(Unlimited("a", {{"cpu", "1"}, {kDevice, "2"}})),
       "cannot align container"},
      {"devices are used up",
       MakePod().Container(one_gpu("a")).Container(one_gpu("b")).Container(one_gpu("c")),
       "cannot align container"},
      {"best-effort pods with devices count", MakePod().Container(Unlimited("a", {{kDevice, "2"}})),
       "cannot align container"},
      {"other best-effort pods do not", MakePod().Container(Unlimited("a", {{"ephemeral-storage", "9Gi"}})),
       ""},
      {"a zone must list the resource",
       MakePod().Container(Unlimited("a", {{"cpu", "1"}, {"hugepages-1Gi", "1Gi"}})),
       "cannot align container"}};
  cluster.Add(NumaNode()).Put<Topology>(topology);
  for (const auto& [name, pod, rejection] : cases) EXPECT_EQ(Rejection(pod), rejection) << name;
}

TEST_F(TopologyMatchTest, DevicesThatANodeOffersWithAmountZeroExist) {
  cluster.Add(NumaNode("n").Allocatable(kDevice, "0")).Add(NumaNode("other"));
  cluster.Put<Topology>(SingleNuma().Zone("node-0", {{"cpu", "4"}, {"memory", "4Gi"}}));
  EXPECT_EQ(Rejection(LimitedPod({{"cpu", "1"}, {"memory", "1Gi"}, {kDevice, "1"}})), "")
      << "NodeResourcesFit rejects it";
}

TEST_F(TopologyMatchTest, TheObjectCountsWheneverItArrives) {
  const api::Pod pod = LimitedPod({{"cpu", "2"}, {"memory", "1Gi"}});
  const auto small = [](const std::string& node) {
    return SingleNuma("container", node).Zone("node-0", {{"cpu", "1"}, {"memory", "4Gi"}});
  };
  cluster.Put<Topology>(small("early"));
  plugin();
  cluster.Put<Topology>(small("before-node"));
  for (const auto* node : {"early", "before-node", "late", "without"}) cluster.Add(NumaNode(node));
  cluster.Put<Topology>(small("late"));
  for (const auto* node : {"early", "before-node", "late"})
    EXPECT_EQ(Rejection(pod, node), "cannot align container") << node;
  EXPECT_EQ(Rejection(pod, "without"), "");
  cluster.Put<Topology>(SingleNuma("container", "late").Zone("node-0", {{"cpu", "2"}, {"memory", "4Gi"}}));
  EXPECT_EQ(Rejection(pod, "late"), "");
  const auto known = cluster.objects().Of<Topology>().Find("early");
  cluster.objects().Apply(ports::Change<Topology>{known, nullptr});
  EXPECT_EQ(Rejection(pod, "early"), "") << "after its deletion";
}

TEST_F(TopologyMatchTest, NodesWithEqualZonesHaveTheirOwnAmounts) {
  const auto zones = [](const std::string& node, const char* cpu) {
    return SingleNuma("container", node).Zone("node-0", {{"cpu", cpu}, {"memory", "4Gi"}});
  };
  const auto fitting = [&] {
    std::string nodes;
    for (const auto* node : {"a", "b", "c"}) {
      if (Rejection(LimitedPod({{"cpu", "2"}, {"memory", "1Gi"}}), node).empty()) nodes += node;
    }
    return nodes;
  };
  for (const auto* node : {"a", "b", "c"}) cluster.Add(NumaNode(node));
  plugin();
  cluster.Put<Topology>(zones("a", "1")).Put<Topology>(zones("b", "2")).Put<Topology>(zones("c", "3"));
  EXPECT_EQ(fitting(), "bc");
  cluster.Put<Topology>(zones("c", "1"));
  EXPECT_EQ(fitting(), "b") << "an amount changes";
  cluster.Put<Topology>(zones("a", "1").Scope("pod"));
  EXPECT_EQ(fitting(), "b") << "the first one becomes different";
  cluster.Put<Topology>(zones("a", "4"));
  EXPECT_EQ(fitting(), "ab") << "and equal again";
  const auto known = cluster.objects().Of<Topology>().Find("b");
  cluster.objects().Apply(ports::Change<Topology>{known, nullptr});
  EXPECT_EQ(fitting(), "ab") << "without an object all pods fit";
  cluster.Put<Topology>(zones("b", "1")).Put<Topology>(zones("c", "5"));
  EXPECT_EQ(fitting(), "ac");
}

TEST_F(TopologyMatchTest, OnlyAChangeOfTheTopologyInvalidatesTheRow) {
  cluster.Add(NumaNode());
  plugin();
  const auto topology = SingleNuma().Zone("node-0", {{"cpu", "1"}});
  std::uint64_t changes = cluster.nodes().pod_changes().count();
  const auto changed = [&] {
    return std::exchange(changes, cluster.nodes().pod_changes().count()) != changes;
  };
  cluster.Put<Topology>(topology);
  EXPECT_TRUE(changed());
  Topology touched = topology;
  touched.metadata.resource_version = "2";
  cluster.Put(touched);
  EXPECT_FALSE(changed());
  cluster.Put<Topology>(SingleNuma().Zone("node-0", {{"cpu", "2"}}));
  EXPECT_TRUE(changed());
  cluster.objects().Apply(ports::Change<Topology>{cluster.objects().Of<Topology>().Find("n"), nullptr});
  EXPECT_TRUE(changed()) << "its deletion";
}

TEST_F(TopologyMatchTest, TopologiesBeyondABoundRejectPodsThatWouldBeAligned) {
  ResourceTexts resources;
  for (int i = 0; i < 65; ++i) resources.emplace_back(fmt::format("example.com/d{}", i), "1");
  cluster.Add(NumaNode("many")).Add(NumaNode("twice"));
  cluster.Put<Topology>(SingleNuma("container", "many").Zone("node-0", resources));
  cluster.Put<Topology>(SingleNuma("container", "twice").Zone("node-3", {}).Zone("node-3", {}));
  EXPECT_EQ(Rejection(kOneCpu, "many"),
            "NodeResourceTopology many: zones: 65 different resources: must have at most 64");
  EXPECT_EQ(Rejection(kOneCpu, "twice"),
            "NodeResourceTopology twice: zones: several zones have the NUMA id 3: must be unique");
  EXPECT_EQ(Score(kOneCpu, "many"), 0);
  EXPECT_EQ(Rejection(MakePod(), "many"), "") << "a best-effort pod";
}

// --- objects ---

struct ConfigurationCase {
  std::string name;
  TopologyBuilder topology;
  bool single_numa_node;
  NumaTopology::Scope scope;
  std::int64_t max_numa_nodes = 8;
};

TEST(NumaTopology, AttributesWinOverDeprecatedPolicies) {
  using enum NumaTopology::Scope;
  const auto max = [](const char* value) {
    return TopologyBuilder().Attribute("topologyManagerMaxNUMANodes", value);
  };
  const ConfigurationCase cases[] = {
      {"defaults", TopologyBuilder(), false, kContainer},
      {"deprecated pod level", TopologyBuilder().Deprecated("SingleNUMANodePodLevel"), true, kPod},
      {"deprecated container level", TopologyBuilder().Deprecated("SingleNUMANodeContainerLevel"), true,
       kContainer},
      {"deprecated restricted", TopologyBuilder().Deprecated("RestrictedPodLevel"), false, kPod},
      {"unknown deprecated policy", TopologyBuilder().Deprecated("Restricted"), false, kContainer},
      {"only the first deprecated policy counts",
       TopologyBuilder().Deprecated("None").Deprecated("SingleNUMANodePodLevel"), false, kContainer},
      {"attributes win", TopologyBuilder().Deprecated("SingleNUMANodePodLevel").Policy("none"), false, kPod},
      {"invalid attributes are ignored",
       TopologyBuilder().Deprecated("SingleNUMANodePodLevel").Policy("single").Scope("node"), true, kPod},
      {"the last attribute wins", TopologyBuilder().Scope("pod").Scope("container"), false, kContainer},
      {"number of NUMA nodes", max("4"), false, kContainer, 4},
      {"one NUMA node is ignored", max("1"), false, kContainer, 8},
      {"the number is limited", max("5000"), false, kContainer, 1024},
      {"no number", max("4x"), false, kContainer, 8},
      {"a sign", max("+6"), false, kContainer, 6},
      {"two signs", max("+-6"), false, kContainer, 8},
  };
  for (const ConfigurationCase& at : cases) {
    NumaResourceNames names;
    const NumaTopology topology = CompileNumaTopology(at.topology, names);
    EXPECT_EQ(topology.single_numa_node, at.single_numa_node) << at.name;
    EXPECT_EQ(topology.scope, at.scope) << at.name;
    EXPECT_EQ(topology.max_numa_nodes, at.max_numa_nodes) << at.name;
  }
}

TEST(NumaTopology, OnlyZonesOfTypeNodeWithACanonicalNameCount) {
  NumaResourceNames names;
  const NumaTopology topology = CompileNumaTopology(TopologyBuilder()
                                                        .Zone("node-1", {})
                                                        .Zone("node-0", {}, "Socket")
                                                        .Zone("numa-2", {})
                                                        .Zone("node-", {})
                                                        .Zone("node--1", {})
                                                        .Zone("node-64", {})
                                                        .Zone("node-63", {})
                                                        .Zone("node-0", {}),
                                                    names);
  EXPECT_THAT(topology.ids, ElementsAre(1, 63, 0));
}

TEST(NumaTopology, ReleasesTheNamesOfItsResources) {
  NumaResourceNames names;
  const NumaTopology first =
      CompileNumaTopology(TopologyBuilder().Zone("node-0", {{"a", "1"}, {"b", "1"}}), names);
  const NumaTopology second = CompileNumaTopology(TopologyBuilder().Zone("node-0", {{"b", "1"}}), names);
  EXPECT_EQ(names.size(), 2u);
  ReleaseNames(first, names);
  EXPECT_EQ(names.size(), 1u);
  ReleaseNames(second, names);
  EXPECT_EQ(names.size(), 0u);
}

TEST(NumaTopology, CombinationsAreInLexicographicalOrder) {
  std::vector<std::string> sets;
  Combinations combinations(4, 2);
  do {
    sets.push_back(fmt::format("{}{}", combinations.members()[0], combinations.members()[1]));
  } while (combinations.Next());
  EXPECT_THAT(sets, ElementsAre("01", "02", "03", "12", "13", "23"));
}

TEST(MilliOf, LimitsAmountsToTheRangeOfThousandths) {
  const std::pair<const char*, std::int64_t> cases[] = {
      {"1500m", 1500}, {"2", 2000}, {"1n", 1}, {"9E", INT64_MAX}, {"-9E", -INT64_MAX}, {"1e30", INT64_MAX}};
  for (const auto& [text, wanted] : cases)
    EXPECT_EQ(MilliOf(api::Quantity::Parse(text).value()), wanted) << text;
}

// --- pods ---

TEST(QosClassOf, IsTheClassOfTheApiServer) {
  const auto both = [](const char* cpu, const char* memory) {
    return ResourceTexts{{"cpu", cpu}, {"memory", memory}};
  };
  const auto with_limits = [&](const ResourceTexts& requests, const ResourceTexts& limits) {
    api::Container container = Unlimited("a", requests);
    container.resources.limits = AmountsFrom(limits);
    return container;
  };
  const std::tuple<std::string, api::Pod, QosClass> cases[] = {
      {"nothing", MakePod(), QosClass::kBestEffort},
      {"only devices", LimitedPod({{kDevice, "1"}}), QosClass::kBestEffort},
      {"amounts of 0", LimitedPod(both("0", "0")), QosClass::kBestEffort},
      {"equal", LimitedPod(both("1", "1Gi")), QosClass::kGuaranteed},
      {"equal in other units", MakePod().Container(with_limits(both("1", "1Gi"), both("1000m", "1024Mi"))),
       QosClass::kGuaranteed},
      {"only CPU", LimitedPod({{"cpu", "1"}}), QosClass::kBurstable},
      {"only requests", MakePod().Container(Unlimited("a", both("1", "1Gi"))), QosClass::kBurstable},
      {"higher limits", MakePod().Container(with_limits(both("1", "1Gi"), both("2", "1Gi"))),
       QosClass::kBurstable},
      {"a container without limits",
       MakePod().Container(Limited("a", both("1", "1Gi"))).Container(Unlimited("b", {})),
       QosClass::kBurstable},
      {"an init container without limits",
       MakePod().Container(Limited("a", both("1", "1Gi"))).Init(Unlimited("b", {})), QosClass::kBurstable},
      {"pod-level resources count alone", LimitedPod(both("1", "1Gi")).PodLevel("cpu", "2"),
       QosClass::kBurstable},
  };
  for (const auto& [name, pod, wanted] : cases) EXPECT_EQ(QosClassOf(pod), wanted) << name;
}

// --- scores ---

struct ZoneScoreCase {
  std::string name;
  std::string strategy;
  Topology topology;
  api::Pod pod;
  std::int64_t score;
};

TEST_F(TopologyMatchTest, ScoresByTheUseOfZones) {
  // Unused by kOneCpu: 75% and 50% of CPU and memory of the first zone, 90% of both of the second.
  const auto zones = [](const std::string& scope) {
    return SingleNuma(scope)
        .Zone("node-0", {{"cpu", "4"}, {"memory", "2Gi"}})
        .Zone("node-1", {{"cpu", "10"}, {"memory", "10Gi"}});
  };
  const api::Pod two = MakePod()
                           .Container(Limited("a", {{"cpu", "1"}, {"memory", "1Gi"}}))
                           .Container(Limited("b", {{"cpu", "2"}, {"memory", "1Gi"}}));
  const std::string weighted =
      "LeastAllocated, resources: [{name: cpu, weight: 3}, {name: memory, weight: -1}]";
  const ZoneScoreCase cases[] = {
      {"the lowest zone", "LeastAllocated", zones("pod"), kOneCpu, (75 + 50) / 2},
      {"weights; below 1 they count as 1", weighted, zones("pod"), kOneCpu, (3 * 75 + 50) / 4},
      {"most allocated", "MostAllocated", zones("pod"), kOneCpu, 10},
      {"variance of 0.25 and 0.5", "BalancedAllocation", zones("pod"), kOneCpu, 96},
      {"zones to which it does not fit do not count", "LeastAllocated",
       SingleNuma("pod").Zone("node-0", {{"cpu", "500m"}}).Zone("node-1", {{"cpu", "2"}, {"memory", "2Gi"}}),
       kOneCpu, 50},
      {"mean of containers", "LeastAllocated", zones("container"), two, (62 + 50) / 2},
      {"sum of containers", "LeastAllocated", zones("pod"), two, (25 + 0) / 2},
      {"other policies", "LeastAllocated",
       TopologyBuilder().Policy("restricted").Zone("node-0", {{"cpu", "4"}, {"memory", "2Gi"}}), kOneCpu, 0},
      {"no zones", "LeastAllocated", SingleNuma(), kOneCpu, 0},
  };
  cluster.Add(NumaNode());
  for (const ZoneScoreCase& at : cases) {
    cluster.Put(at.topology);
    args = fmt::format("scoringStrategy: {{type: {}}}", at.strategy);
    plugin_ = nullptr;
    EXPECT_EQ(Score(at.pod), at.score) << at.name;
  }
}

TEST_F(TopologyMatchTest, ScoresByTheNumberAndDistanceOfZones) {
  // A set of two near zones, and one that is further away.
  const auto zones = [](const std::string& scope) {
    auto topology = TopologyBuilder().Scope(scope).Attribute("topologyManagerMaxNUMANodes", "4");
    const std::int64_t distances[3][3] = {{10, 30, 20}, {30, 10, 30}, {20, 30, 10}};
    for (int from = 0; from < 3; ++from) {
      topology.Zone(fmt::format("node-{}", from), {{"cpu", from == 2 ? "1" : "4"}, {"memory", "8Gi"}});
      for (int to = 0; to < 3; ++to) topology.Distance(fmt::format("node-{}", to), distances[from][to]);
    }
    return topology;
  };
  const auto cpus = [](const char* count) { return LimitedPod({{"cpu", count}, {"memory", "1Gi"}}); };
  const ZoneScoreCase cases[] = {
      {"one zone", "", zones("pod"), cpus("4"), 100 - 25 + 12},
      {"two near zones", "", zones("pod"), cpus("5"), 100 - 50 + 12},
      {"two distant zones", "", zones("pod"), cpus("8"), 100 - 50},
      {"three zones", "", zones("pod"), cpus("9"), 100 - 75 + 12},
      {"too much", "", zones("pod"), cpus("10"), 0},
      {"a zone must list all resources", "", zones("pod"),
       LimitedPod({{"cpu", "1"}, {"memory", "1Gi"}, {"ephemeral-storage", "1Gi"}}), 0},
      {"nothing belongs to zones", "", TopologyBuilder().Zone("node-0", {{kDevice, "1"}}), kOneCpu, 100},
      {"containers take from zones", "", zones("container"),
       MakePod()
           .Container(Limited("a", {{"cpu", "3"}, {"memory", "1Gi"}}))
           .Container(Limited("b", {{"cpu", "3"}, {"memory", "1Gi"}}))
           .Container(Limited("c", {{"cpu", "2"}, {"memory", "1Gi"}})),
       100 - 50 + 12},
  };
  args = "scoringStrategy: {type: LeastNUMANodes}";
  cluster.Add(NumaNode());
  for (const ZoneScoreCase& at : cases) {
    cluster.Put(at.topology);
    EXPECT_EQ(Score(at.pod), at.score) << at.name;
  }
}

// The zones have room for one container with 3 CPUs each; the third container needs both.
TEST_F(TopologyMatchTest, ContainersTakeFromTheirZonesIfTheIdsHaveGaps) {
  args = "scoringStrategy: {type: LeastNUMANodes}";
  cluster.Add(NumaNode());
  cluster.Put<Topology>(TopologyBuilder()
                            .Scope("container")
                            .Attribute("topologyManagerMaxNUMANodes", "4")
                            .Zone("node-1", {{"cpu", "4"}, {"memory", "8Gi"}})
                            .Zone("node-3", {{"cpu", "4"}, {"memory", "8Gi"}}));
  const api::Pod pod = MakePod()
                           .Container(Limited("a", {{"cpu", "3"}, {"memory", "1Gi"}}))
                           .Container(Limited("b", {{"cpu", "3"}, {"memory", "1Gi"}}))
                           .Container(Limited("c", {{"cpu", "2"}, {"memory", "1Gi"}}));
  EXPECT_EQ(Score(pod), 100 - 50 + 12);
}

TEST_F(TopologyMatchTest, SetsOfMoreThanEightZonesAreNotCompared) {
  args = "scoringStrategy: {type: LeastNUMANodes}";
  const auto zones = [](int count) {
    TopologyBuilder topology;
    for (int i = 0; i < count; ++i)
      topology.Zone(fmt::format("node-{}", i), {{"cpu", "1"}, {"memory", "1Gi"}});
    return topology;
  };
  cluster.Add(NumaNode()).Put<Topology>(zones(8));
  EXPECT_GT(Score(kOneCpu), 0);
  cluster.Put<Topology>(zones(9));
  EXPECT_EQ(Score(kOneCpu), 0);
}

TEST_F(TopologyMatchTest, NodesWithoutTopologyAreTheWorstOnlyForGuaranteedPods) {
  cluster.Add(NumaNode("with")).Add(NumaNode("without"));
  cluster.Put<Topology>(SingleNuma("pod", "with").Zone("node-0", {{"cpu", "2"}, {"memory", "2Gi"}}));
  EXPECT_EQ(cluster.Scores(plugin(), kOneCpu), (NodeScores{{"with", 50}, {"without", 0}}));
  EXPECT_EQ(cluster.Scores(plugin(), MakePod().Cpu("1")), (NodeScores{{"with", 100}, {"without", 100}}));
}

// --- reserved nodes ---

TEST_F(TopologyMatchTest, AReservedNodeIsStaleUntilItsPodsAreBoundOrGone) {
  args = "discardReservedNodes: true";
  cluster.Add(NumaNode()).Add(NumaNode("other"));
  cluster.Put<Topology>(SingleNuma().Zone("node-0", {{"cpu", "2"}, {"memory", "2Gi"}}));
  Do(Step::kReserve, "a");
  Do(Step::kReserve, "b");
  EXPECT_EQ(Rejection(kOneCpu), "invalid node topology data");
  EXPECT_EQ(Score(kOneCpu), 0);
  EXPECT_EQ(Rejection(kOneCpu, "other"), "");
  EXPECT_EQ(Rejection(MakePod()), "") << "a best-effort pod";
  Do(Step::kPostBind, "a");
  EXPECT_EQ(Rejection(kOneCpu), "invalid node topology data");
  Do(Step::kUnreserve, "b");
  EXPECT_EQ(Rejection(kOneCpu), "");
  EXPECT_EQ(Score(kOneCpu), 50);
  Do(Step::kUnreserve, "b");
  EXPECT_EQ(Rejection(kOneCpu), "") << "Unreserve may be repeated";
}

TEST_F(TopologyMatchTest, NodesWithoutTopologyAreReservedToo) {
  args = "discardReservedNodes: true";
  cluster.Add(NumaNode());
  Do(Step::kReserve, "a");
  EXPECT_EQ(Rejection(kOneCpu), "invalid node topology data");
}

TEST_F(TopologyMatchTest, ANodeThatTakesTheRowOfAReservedNodeIsNotReserved) {
  args = "discardReservedNodes: true";
  cluster.Add(NumaNode());
  Do(Step::kReserve, "a");
  EXPECT_EQ(Rejection(kOneCpu), "invalid node topology data");
  const cluster::Row row = cluster.RowOf("n");
  cluster.nodes().Remove(row);
  cluster.Add(NumaNode("other"));
  ASSERT_EQ(cluster.RowOf("other"), row);
  EXPECT_EQ(Rejection(kOneCpu, "other"), "");
  cluster.Add(NumaNode());
  EXPECT_EQ(Rejection(kOneCpu), "invalid node topology data") << "the node is back";
}

TEST_F(TopologyMatchTest, AReloadKeepsReservations) {
  args = "discardReservedNodes: true";
  cluster.Add(NumaNode());
  Do(Step::kReserve, "a");
  const auto earlier = std::exchange(plugin_, nullptr);
  EXPECT_EQ(Rejection(kOneCpu), "invalid node topology data");
}

TEST_F(TopologyMatchTest, ReservationsInvalidateTheRow) {
  args = "discardReservedNodes: true";
  cluster.Add(NumaNode());
  plugin();
  for (const Step step : {Step::kReserve, Step::kPostBind}) {
    const std::uint64_t before = cluster.nodes().pod_changes().count();
    Do(step, "a");
    EXPECT_NE(cluster.nodes().pod_changes().count(), before);
  }
}

TEST_F(TopologyMatchTest, WithoutReservedNodesPlacementsChangeNothing) {
  cluster.Add(NumaNode());
  Do(Step::kReserve, "a");
  EXPECT_EQ(Rejection(kOneCpu), "");
}

// --- explanations, events, arguments ---

TEST_F(TopologyMatchTest, ExplanationsNameWhatZonesHave) {
  cluster.Add(NumaNode()).Put<Topology>(TwoZones("container"));
  const cluster::PodInfo pod = cluster.Prepare(LimitedPod({{"cpu", "4500m"}, {"memory", "512Mi"}}));
  framework::CycleState state;
  framework::ScratchPool scratch;
  const framework::Attempt attempt(pod, cluster.nodes(), state, scratch);
  const auto details = plugin().RejectionDetails(attempt, cluster.nodes().all());
  ASSERT_EQ(details.size(), 1u);
  EXPECT_THAT(details[0].lines,
              ElementsAre("container app requests 4500m cpu, 512Mi memory: no NUMA zone has all of it",
                          "zone node-0 has 4 cpu, 4096Mi memory", "zone node-1 has 4 cpu, 4096Mi memory"));
  EXPECT_TRUE(details[0].rows.Has(cluster.RowOf("n")));
}

TEST_F(TopologyMatchTest, ReadsTopologiesAndIsRetriedAfterTheirChanges) {
  using namespace framework;
  plugin();
  EXPECT_THAT(cluster.handle().requested_resources,
              ElementsAre("noderesourcetopologies.topology.node.k8s.io"));
  std::vector<std::pair<EventResource, ActionMask>> events;
  for (const EventRegistration& registration : plugin().EventsToRegister())
    events.emplace_back(registration.event.resource, registration.event.action);
  EXPECT_THAT(events,
              ElementsAre(std::pair(EventResource::kAssignedPod, ActionMask{kDelete}),
                          std::pair(EventResource::kNode, ActionMask{kAdd | kUpdateNodeAllocatable}),
                          std::pair(EventResource::kNodeResourceTopology, ActionMask{kAdd | kUpdate})));
}

TEST(TopologyMatchArgs, ErrorsNameFieldValueAndExpectation) {
  const std::pair<std::string, std::string> cases[] = {
      {"scoringStrategy: {}",
       "args.scoringStrategy.type: Invalid value: \"\": invalid ScoringStrategyType: must be "
       "one of LeastAllocated, MostAllocated, BalancedAllocation, LeastNUMANodes"},
      {"scoringStrategy: {type: Least}", "args.scoringStrategy.type: Invalid value: \"Least\": invalid"},
      {"scoringStrategy: {type: MostAllocated, resources: [{weight: 1}]}",
       "args.scoringStrategy.resources[0].name: Required value: must be the name of a resource"},
      {"scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1000001}]}",
       "args.scoringStrategy.resources[0].weight: Invalid value: 1000001: must be at most 1000000"},
      {"cacheResyncPeriodSeconds: 5", "args.cacheResyncPeriodSeconds: Invalid value: 5: "},
      {"cache: {foreignPodsDetect: Some}",
       "args.cache.foreignPodsDetect: Invalid value: \"Some\": must be one of None, All, "
       "OnlyExclusiveResources"},
      {"cache: {resyncMethod: Some}",
       "args.cache.resyncMethod: Invalid value: \"Some\": must be one of Autodetect"},
      {"cache: {informerMode: Some}",
       "args.cache.informerMode: Invalid value: \"Some\": must be one of Shared"},
      {"cache: {resyncScope: Some}", "args.cache.resyncScope: Invalid value: \"Some\": must be one of All"},
      {"preemptionMode: Disabled", "preemptionMode"},
      {"cache: {period: 1}", "cache.period"},
  };
  for (const auto& [args, error] : cases) {
    Cluster cluster;
    const auto plugin = cluster.TryMake<NodeResourceTopologyMatch>(args);
    ASSERT_FALSE(plugin) << args;
    EXPECT_THAT(plugin.error().message, HasSubstr(error)) << args;
  }
}

TEST(TopologyMatchArgs, AResyncPeriodIsWithoutEffectIfReservedNodesAreDiscarded) {
  Cluster cluster;
  EXPECT_TRUE(cluster.TryMake<NodeResourceTopologyMatch>(
      "{discardReservedNodes: true, cacheResyncPeriodSeconds: 5}"));
}

TEST(TopologyMatchArgs, AreCompletedWithTheDefaultsOfSchedulerPlugins) {
  config::Problems problems;
  const auto codec = NodeResourceTopologyMatchArgsCodec();
  const config::Value wanted =
      yaml::ParseValue(
          "{scoringStrategy: {type: LeastAllocated, resources: [{name: cpu, weight: 1}, {name: memory, "
          "weight: 1}]}, cacheResyncPeriodSeconds: 0, discardReservedNodes: false, cache: "
          "{foreignPodsDetect: "
          "All, resyncMethod: Autodetect, informerMode: Dedicated, resyncScope: All}}")
          .value();
  EXPECT_EQ(codec.complete(config::Value::Map(), {}, problems), wanted);
  EXPECT_EQ(codec.complete(wanted, {}, problems), wanted);
  EXPECT_THAT(problems.Text(), IsEmpty());
}

}  // namespace
}  // namespace berth::plugins
