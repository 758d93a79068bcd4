#include "scheduler/explanation/explain_pod.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/explanation/fake_cluster.hpp"
#include "testing/storage.hpp"

namespace berth::explanation {
namespace {

using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::PodBuilder;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

api::PodAffinityTerm SameZone(const std::string& app) {
  api::PodAffinityTerm term;
  term.label_selector.emplace().match_labels.Set("app", app);
  term.topology_key = kZone;
  return term;
}

api::Pod Spreading(const api::Pod& pod) {
  api::Pod spreading = pod;
  api::TopologySpreadConstraint constraint;
  constraint.max_skew = 1;
  constraint.topology_key = kZone;
  constraint.when_unsatisfiable = "DoNotSchedule";
  constraint.label_selector.emplace().match_labels.Set("app", "web");
  spreading.spec.topology_spread_constraints.push_back(constraint);
  return spreading;
}
api::Pod AwayFrom(const api::Pod& pod, const std::string& app) {
  api::Pod away = pod;
  away.spec.pod_anti_affinity.emplace().required.push_back(SameZone(app));
  return away;
}
api::Pod CloseTo(const api::Pod& pod, const std::string& app) {
  api::Pod close = pod;
  close.spec.pod_affinity.emplace().required.push_back(SameZone(app));
  return close;
}
api::Pod ControlledBy(const char* kind, const api::Pod& pod) {
  api::Pod controlled = pod;
  controlled.metadata.controller =
      api::OwnerReference{.api_version = "v1", .kind = kind, .name = "owner", .uid = "u"};
  return controlled;
}
api::Pod Claiming(const api::Pod& pod, const std::string& claim) {
  api::Pod claiming = pod;
  api::Volume volume;
  volume.name = "data";
  volume.source = api::Volume::Source::kPersistentVolumeClaim;
  volume.id = claim;
  claiming.spec.volumes.push_back(volume);
  return claiming;
}

FakeCluster TwoZones() {
  FakeCluster cluster;
  cluster.Add(MakeNode("n1").Cpu("4").Memory("8Gi").Zone("a").Label("disk", "ssd"));
  cluster.Add(MakeNode("n2")
                  .Cpu("8")
                  .Memory("8Gi")
                  .Zone("b")
                  .Label("disk", "hdd")
                  .Taint("gpu", "true", "NoSchedule"));
  cluster.Run("n1", MakePod("db").Cpu("3").Label("app", "db").HostPort(80));
  cluster.Run("n1", MakePod("web-1").Label("app", "web"));
  return cluster;
}

Explanation Explain(const FakeCluster& cluster, const api::Pod& pod) {
  static std::vector<std::unique_ptr<FakeEngine>> engines;  // records refer to them
  engines.push_back(cluster.Build());
  return ExplainPod(*engines.back()->evaluator, std::make_shared<const api::Pod>(pod));
}

// "n1: Insufficient cpu (values)" of each reason.
std::vector<std::string> Lines(const Explanation& explanation) {
  std::vector<std::string> lines;
  for (const Reason& reason : explanation.pod_reasons)
    lines.push_back(fmt::format("pod: {} ({})", reason.text, fmt::join(reason.values, "; ")));
  for (const NodeGroup& group : explanation.groups) {
    for (const Reason& reason : group.reasons)
      lines.push_back(fmt::format("{}: {} ({})", fmt::join(group.nodes, ","), reason.text,
                                  fmt::join(reason.values, "; ")));
  }
  return lines;
}

// "step; step -> n1,n2" of each advice.
std::vector<std::string> AdviceOf(const Explanation& explanation) {
  std::vector<std::string> lines;
  for (const Advice& advice : explanation.advice)
    lines.push_back(fmt::format("{} -> {}", fmt::join(advice.steps, "; "), fmt::join(advice.nodes, ",")));
  return lines;
}

TEST(ExplainPod, NamesTheValuesThatDecided) {
  struct Case {
    const char* what;
    api::Pod pod;
    const char* line;
  };
  const Case cases[] = {
      {"a taint with key, value and effect", MakePod("p").Cpu("1"),
       "n2: node(s) had untolerated taint(s) (taint gpu=true:NoSchedule)"},
      {"a shortage with the amounts", MakePod("p").Cpu("3"),
       "n1: Insufficient cpu (requests 3; n1 lacks 2 (1 of 4 free))"},
      {"a label with the nearest value", MakePod("p").Selecting("disk", "sdd"),
       "n1: node(s) didn't match Pod's node affinity/selector (requires disk=sdd; there is disk=ssd on 1 "
       "node; "
       "nearest existing value: ssd)"},
      {"a label with the nearest key", MakePod("p").Selecting("dsk", "ssd"),
       "n1: node(s) didn't match Pod's node affinity/selector (requires dsk=ssd; there is no label dsk on 1 "
       "node; "
       "nearest existing label: disk)"},
      {"the pod that holds a host port", MakePod("p").HostPort(80),
       "n1: node(s) didn't have free ports for the requested pod ports (host ports 80/TCP: taken by "
       "default/db on "
       "n1)"},
      {"the counts per domain and the skew", Spreading(MakePod("p").Label("app", "web").Cpu("0")),
       "n1: node(s) didn't match pod topology spread constraints (matching pods by "
       "topology.kubernetes.io/zone: b: "
       "0, a: 1; with this pod the skew in a would be 2, maxSkew is 1)"},
      {"the pods that anti-affinity excludes", AwayFrom(MakePod("p"), "db"),
       "n1: node(s) didn't match pod anti-affinity rules (n1 is kept free by default/db on n1; the pod "
       "excludes "
       "app=db in namespace default in the same topology.kubernetes.io/zone)"},
      {"the missing pods of an affinity", CloseTo(MakePod("p"), "cache"),
       "n1: node(s) didn't match pod affinity rules (no pod on a node with label topology.kubernetes.io/zone "
       "matches "
       "app=cache in namespace default)"},
      {"a missing claim with the nearest one", Claiming(MakePod("p"), "dta"),
       "pod: persistentvolumeclaim \"dta\" not found (claim default/dta does not exist; nearest existing "
       "claim: data)"},
      {"the zone of a volume", Claiming(MakePod("p"), "data"),
       "n1: node(s) didn't match PersistentVolume's node affinity (claim default/data is bound to volume "
       "pv-1, usable "
       "on nodes with topology.kubernetes.io/zone In (b))"},
  };
  FakeCluster cluster = TwoZones();
  api::PersistentVolumeClaim claim;
  claim.metadata.name = "data";
  claim.metadata.ns = "default";
  claim.volume_name = "pv-1";
  claim.phase = "Bound";
  claim.metadata.annotations.emplace().Set("pv.kubernetes.io/bind-completed", "yes");
  api::PersistentVolume volume;
  volume.metadata.name = "pv-1";
  volume.node_affinity.emplace().terms.push_back(berth::testing::Term({{kZone, "In", {"b"}}}));
  cluster.claims.push_back(std::make_shared<const api::PersistentVolumeClaim>(claim));
  cluster.volumes.push_back(std::make_shared<const api::PersistentVolume>(volume));
  for (const Case& c : cases) EXPECT_THAT(Lines(Explain(cluster, c.pod)), Contains(c.line)) << c.what;
}

TEST(ExplainPod, GivesAllReasonsOfANodeAndOrdersNodesByThem) {
  FakeCluster cluster = TwoZones();
  cluster.Add(MakeNode("n3").Cpu("2").Memory("8Gi"));
  const Explanation explanation = Explain(cluster, MakePod("p").Cpu("9"));
  EXPECT_THAT(
      Lines(explanation),
      ElementsAre("n1,n3: Insufficient cpu (requests 9; n3 lacks 7 (2 of 2 free), n1 lacks 8 (1 of 4 free))",
                  "n2: node(s) had untolerated taint(s) (taint gpu=true:NoSchedule)",
                  "n2: Insufficient cpu (requests 9; n2 lacks 1 (8 of 8 free))"));
}

TEST(ExplainPod, DescribesOnlyTheFirstReasonsOfAGroup) {
  constexpr std::size_t kResources = 100;
  FakeCluster cluster;
  for (int node = 0; node < 20; ++node) cluster.Add(MakeNode(fmt::format("n{:02}", node)).Cpu("4"));
  PodBuilder pod = MakePod("p");
  for (std::size_t i = 0; i < kResources; ++i) pod.Request(fmt::format("made-up.example/{:03}", i), "1");
  const Explanation explanation = Explain(cluster, pod);
  ASSERT_EQ(explanation.groups.size(), 1U);
  const std::vector<Reason>& reasons = explanation.groups.front().reasons;
  EXPECT_EQ(reasons.size(), kResources);
  EXPECT_THAT(reasons.front().values,
              ElementsAre("requests 1; n00 lacks 1 (0 of 0 free), n01 lacks 1 (0 of 0 free), "
                          "n02 lacks 1 (0 of 0 free); 17 more lack 1"));
  EXPECT_EQ(std::ranges::count_if(reasons, [](const Reason& reason) { return !reason.values.empty(); }), 8);
}

TEST(ExplainPod, DescribesOnlyTheFirstRequirementsThatNodesFail) {
  PodBuilder pod = MakePod("p");
  for (int i = 0; i < 20; ++i) pod.Selecting(fmt::format("label-{:02}", i), "x");
  const Explanation explanation = Explain(TwoZones(), pod);
  const std::vector<Reason>& reasons = explanation.groups.front().reasons;
  ASSERT_EQ(reasons.size(), 1U);
  EXPECT_EQ(reasons.front().values.size(), 4U);
  EXPECT_THAT(reasons.front().values.front(), HasSubstr("requires label-00=x;"));
}

TEST(ExplainPod, AdvisesWhatHelpsTheEasiestFirst) {
  struct Case {
    const char* what;
    api::Pod pod;
    std::vector<std::string> advice;
  };
  const Case cases[] = {
      {"a fitting pod needs no advice", MakePod("p").Cpu("1"), {}},
      {"amounts and taints",
       MakePod("p").Cpu("3"),
       {"add a toleration for gpu=true:NoSchedule -> n2", "lower the cpu request from 3 to 1 -> n1",
        "wait until default/db has ended, or delete it -> n1",
        "use a priority class with a value of at least 1 (now 0) -> n1", "add a node like n1 -> n1-new"}},
      {"several steps for a node with several reasons",
       MakePod("p").Cpu("8").Selecting("disk", "hdd").HostPort(80),
       {"add a toleration for gpu=true:NoSchedule -> n2",
        "require disk=ssd instead of disk=hdd; free the host port: wait until default/db has ended, or "
        "delete it; "
        "lower the cpu request from 8 to 1 -> n1",
        "no longer require disk=hdd; free the host port: wait until default/db has ended, or delete it; "
        "lower the "
        "cpu request from 8 to 1 -> n1"}},
      {"a gate",
       MakePod("p").Gate("example.com/quota"),
       {"remove the scheduling gate example.com/quota -> n1"}},
      {"a scheduler that is not configured",
       MakePod("p").Scheduler("other"),
       {"set schedulerName to default-scheduler, unless a scheduler named other runs -> n1"}},
      {"a request beyond every node",
       MakePod("p").Cpu("100").Tolerating("gpu", "Exists"),
       {"lower the cpu request from 100 to 8 -> n2"}},
      {"nothing helps against a missing claim", Claiming(MakePod("p"), "none"), {}},
  };
  for (const Case& c : cases) EXPECT_EQ(AdviceOf(Explain(TwoZones(), c.pod)), c.advice) << c.what;
}

TEST(ExplainPod, LowersTheRequestsWithoutTheOverhead) {
  FakeCluster cluster;
  cluster.Add(MakeNode("n1").Cpu("3").Memory("8Gi"));
  const api::Pod pod =
      MakePod("p").Cpu("4").Memory("9Gi").Overhead("cpu", "250m").Overhead("memory", "512Mi");
  const Explanation explanation = Explain(cluster, pod);
  EXPECT_THAT(
      AdviceOf(explanation),
      Contains("lower the cpu request from 4 to 2750m and the memory request from 9Gi to 7680Mi -> n1"));
  const api::PodPtr lowered = explanation.advice.front().change.pod;
  ASSERT_NE(lowered, nullptr);
  EXPECT_EQ(lowered->spec.containers.front().resources.requests.at("cpu").MilliValue(), 2750);
}

TEST(ExplainPod, ACordonedNodeIsUncordonedAndNotRepaired) {
  FakeCluster cluster;
  cluster.Add(MakeNode("n1").Cpu("4").Cordoned().Taint("node.kubernetes.io/unschedulable", "", "NoSchedule"));
  const std::vector<std::string> advice = AdviceOf(Explain(cluster, MakePod("p").Cpu("1")));
  EXPECT_THAT(advice, Contains("uncordon node n1 (kubectl uncordon n1) -> n1"));
  EXPECT_THAT(advice, Not(Contains(HasSubstr("repair"))));
}

TEST(ExplainPod, ATaintBesideThatOfACordonIsTolerated) {
  FakeCluster cluster;
  cluster.Add(MakeNode("n1")
                  .Cpu("4")
                  .Cordoned()
                  .Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
                  .Taint("dedicated", "a", "NoSchedule"));
  const std::vector<std::string> advice = AdviceOf(Explain(cluster, MakePod("p").Cpu("1")));
  EXPECT_THAT(advice,
              Contains(AllOf(HasSubstr("uncordon node n1"),
                             HasSubstr("add a toleration for dedicated=a:NoSchedule"), HasSubstr("-> n1"))));
  EXPECT_THAT(advice, Not(Contains(HasSubstr("repair"))));
}

TEST(ExplainPod, ACorrectedKeyKeepsItsOperator) {
  FakeCluster cluster;
  cluster.Add(MakeNode("n1").Cpu("4").Label("core-count", "8"));
  const api::Pod pod =
      MakePod("p").Cpu("1").Requiring({berth::testing::Term({{"cores-count", "Gt", {"4"}}})});
  EXPECT_THAT(AdviceOf(Explain(cluster, pod)),
              Contains("require core-count Gt (4) instead of cores-count Gt (4) -> n1"));
}

TEST(ExplainPod, AdvisesForVolumes) {
  using berth::testing::MakeClaim;
  using berth::testing::MakeVolume;
  FakeCluster cluster = TwoZones();
  const auto add = [&](const api::PersistentVolumeClaim& claim, const api::PersistentVolume& volume) {
    cluster.claims.push_back(std::make_shared<const api::PersistentVolumeClaim>(claim));
    cluster.volumes.push_back(std::make_shared<const api::PersistentVolume>(volume));
  };
  add(MakeClaim("far").BoundTo("pv-1"), MakeVolume("pv-1").Label(kZone, "c").ClaimedBy("far"));
  add(MakeClaim("rack").BoundTo("pv-2"),
      MakeVolume("pv-2").ReachedFrom("rack", {"r7", "r8"}).ClaimedBy("rack"));
  add(MakeClaim("sole").BoundTo("pv-3").Modes({"ReadWriteOncePod"}), MakeVolume("pv-3").ClaimedBy("sole"));
  add(MakeClaim("data").BoundTo("pv-5"), MakeVolume("pv-5").ClaimedBy("data"));
  add(MakeClaim("local").BoundTo("pv-4"),
      MakeVolume("pv-4").ReachedFrom("kubernetes.io/hostname", {"n9"}).ClaimedBy("local"));
  cluster.Run("n2", Claiming(MakePod("writer"), "sole"));
  struct Case {
    const char* what;
    const char* claim;
    std::vector<std::string> advice;
  };
  const Case cases[] = {
      {"a volume in a zone without nodes",
       "far",
       {"add a node like n1 with topology.kubernetes.io/zone=c -> n1-new",
        "add a toleration for gpu=true:NoSchedule; add a node like n2 with topology.kubernetes.io/zone=c -> "
        "n2-new"}},
      {"a volume for nodes with a label",
       "rack",
       {"add a node like n1 with rack=r7 -> n1-new",
        "add a toleration for gpu=true:NoSchedule; add a node like n2 with rack=r7 -> n2-new"}},
      {"a volume that only one pod may use",
       "sole",
       {"wait until default/writer has ended, or delete it -> n1"}},
      {"a volume of a certain node", "local", {}},
      {"a misspelled claim", "daat", {"use claim data instead of daat -> n1"}},
      {"a misspelled claim whose volume fits no node", "rakc", {}},
  };
  for (const Case& c : cases) {
    const std::vector<std::string> advice =
        AdviceOf(Explain(cluster, Claiming(MakePod("p").Cpu("0"), c.claim)));
    EXPECT_EQ(advice, c.advice) << c.what;
  }
}

TEST(ExplainPod, ANodeThatTwoPluginsMissIsAddedOnceAndRemovedAgain) {
  FakeCluster cluster = TwoZones();
  cluster.claims.push_back(
      std::make_shared<const api::PersistentVolumeClaim>(berth::testing::MakeClaim("far").BoundTo("pv-1")));
  cluster.volumes.push_back(std::make_shared<const api::PersistentVolume>(
      berth::testing::MakeVolume("pv-1").Label(kZone, "c").ReachedFrom(kZone, {"c"}).ClaimedBy("far")));
  const auto built = cluster.Build();
  const Explanation explanation =
      ExplainPod(*built->evaluator, std::make_shared<const api::Pod>(Claiming(MakePod("p").Cpu("0"), "far")));
  EXPECT_THAT(Lines(explanation), Contains(HasSubstr("n1: node(s) had no available volume zone")));
  EXPECT_THAT(Lines(explanation), Contains(HasSubstr("n1: node(s) didn't match PersistentVolume's node")));
  EXPECT_THAT(AdviceOf(explanation),
              Contains("add a node like n1 with topology.kubernetes.io/zone=c -> n1-new"));
  for (const Advice& advice : explanation.advice) EXPECT_EQ(advice.change.new_nodes.size(), 1U);
  EXPECT_EQ(built->engine->cache().nodes().Find("n1-new"), cluster::kNoRow);
  EXPECT_EQ(built->engine->cache().nodes().Find("n2-new"), cluster::kNoRow);
}

TEST(ExplainPod, ANewNodeIsEvaluatedWithThePodsOfDaemonSets) {
  const auto advised = [](const char* kind) {
    FakeCluster cluster;
    cluster.Add(MakeNode("n1").Cpu("4"));
    cluster.Run("n1", ControlledBy(kind, MakePod("agent").Cpu("2")));
    return AdviceOf(Explain(cluster, MakePod("p").Cpu("3")));
  };
  EXPECT_THAT(advised("ReplicaSet"), Contains("add a node like n1 -> n1-new"));
  EXPECT_THAT(advised("DaemonSet"), Not(Contains(HasSubstr("add a node"))));
}

TEST(ExplainPod, ANewNodeHasTheVolumeLimitsAndTheTopologyOfItsModel) {
  FakeCluster cluster;
  cluster.Add(MakeNode("n1").Cpu("4"));
  cluster.Run("n1", MakePod("db").Cpu("4"));
  api::CSINode csi_node;
  csi_node.metadata.name = "n1";
  csi_node.drivers.push_back({.name = "csi.example.com", .count = 1});
  cluster.csi_nodes.push_back(std::make_shared<const api::CSINode>(csi_node));
  api::NodeResourceTopology topology;
  topology.metadata.name = "n1";
  topology.attributes.push_back({.name = "topologyManagerPolicy", .value = "none"});
  cluster.topologies.push_back(std::make_shared<const api::NodeResourceTopology>(topology));
  const auto built = cluster.Build();
  const Explanation explanation =
      ExplainPod(*built->evaluator, std::make_shared<const api::Pod>(MakePod("p").Cpu("3")));
  const auto added = std::ranges::find_if(
      explanation.advice, [](const Advice& advice) { return !advice.change.new_nodes.empty(); });
  ASSERT_NE(added, explanation.advice.end());
  const NewNode& node = added->change.new_nodes.front();
  ASSERT_NE(node.csi_node, nullptr);
  EXPECT_EQ(node.csi_node->metadata.name, "n1-new");
  EXPECT_EQ(node.csi_node->drivers.front().count, 1);
  ASSERT_NE(node.topology, nullptr);
  EXPECT_EQ(node.topology->metadata.name, "n1-new");
  EXPECT_EQ(node.topology->attributes, topology.attributes);
  EXPECT_EQ(built->engine->cache().objects().Of<api::CSINode>().size(), 1U) << "the copy is removed";
  EXPECT_EQ(built->engine->cache().objects().Of<api::NodeResourceTopology>().size(), 1U);
}

TEST(ExplainPod, DoesNotAdviseToDeletePodsThatComeBack) {
  const auto advised = [](const char* kind, const api::Pod& obstacle, const api::Pod& pod) {
    FakeCluster cluster;
    cluster.Add(MakeNode("n1").Cpu("4").Zone("a"));
    cluster.Run("n1", ControlledBy(kind, obstacle));
    return AdviceOf(Explain(cluster, pod));
  };
  struct Case {
    const char* what;
    api::Pod obstacle, pod;
  };
  const Case cases[] = {
      {"the node's room", MakePod("q").Cpu("4"), MakePod("p").Cpu("2")},
      {"a host port", MakePod("q").HostPort(80), MakePod("p").HostPort(80)},
      {"anti-affinity", MakePod("q").Label("app", "q"), AwayFrom(MakePod("p"), "q")},
  };
  for (const Case& c : cases) {
    const auto deletion = Contains(HasSubstr("wait until default/q has ended, or delete it"));
    EXPECT_THAT(advised("ReplicaSet", c.obstacle, c.pod), deletion) << c.what;
    for (const char* kind : {"DaemonSet", "Node"})
      EXPECT_THAT(advised(kind, c.obstacle, c.pod), Not(deletion)) << c.what << ", " << kind;
  }
}

// `profile`: members of the profile.
config::SchedulerConfig ConfigWith(const std::string& profile) {
  const runtime::Registry plugins = assembly::InTreePlugins();
  return config::ParseSchedulerConfig(
             "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{" +
                 profile + "}]",
             config::ParseOptions{
                 .gates = {}, .codecs = &plugins.codecs(), .read_file = {}, .adjust_election = {}})
      .value();
}

TEST(ExplainPod, AdvisesAlthoughAResourceIsIgnored) {
  const auto config =
      ConfigWith("pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: [example.com/license]}}]");
  FakeCluster cluster;
  cluster.Add(MakeNode("n1").Cpu("4").Memory("8Gi"));
  cluster.Run("n1", MakePod("batch").Cpu("4"));
  const api::PodPtr pod =
      std::make_shared<const api::Pod>(MakePod("p").Cpu("2").Request("example.com/license", "1"));
  const auto built = cluster.Build(config);
  EXPECT_THAT(AdviceOf(ExplainPod(*built->evaluator, pod)),
              Contains("wait until default/batch has ended, or delete it -> n1"));
}

TEST(ExplainPod, AdvisesToCompleteAGroupThatFits) {
  const auto config = ConfigWith(
      "plugins: {multiPoint: {enabled: [{name: Gangs}]}}, pluginConfig: [{name: Gangs, args: {sources: "
      "[Annotation]}}]");
  const auto member = [](const std::string& name, int least) {
    api::Pod pod = MakePod(name).Uid(name).Cpu("2");
    pod.metadata.annotations.emplace().Set("scheduling.berth.dev/group", "ring");
    pod.metadata.annotations->Set("scheduling.berth.dev/min-members", std::to_string(least));
    return std::make_shared<const api::Pod>(pod);
  };
  struct Case {
    const char* what;
    int least, members;
    std::vector<std::string> advice;
  };
  const Case cases[] = {
      {"one is missing", 2, 1, {"create 1 more pod of group/ring -> n1,n2"}},
      {"three are missing and there is room", 4, 1, {"create 3 more pods of group/ring -> n1,n2"}},
      {"there is no room for all", 5, 1, {}},
      {"there is no room beside the other members", 5, 4, {}},
      {"enough members exist", 1, 1, {}},
  };
  FakeCluster cluster;
  for (const char* name : {"n1", "n2"}) cluster.Add(MakeNode(name).Cpu("4").Memory("8Gi"));
  for (const Case& c : cases) {
    const auto built = cluster.Build(config);
    for (int i = 0; i < c.members; ++i)
      built->engine->handle().groups.Put(member("m" + std::to_string(i), c.least));
    const auto advised = AdviceOf(ExplainPod(*built->evaluator, member("m0", c.least)));
    EXPECT_EQ(advised, c.advice) << c.what;
    EXPECT_EQ(built->engine->handle().groups.Find("default/group/ring")->members.size(), c.members) << c.what;
    EXPECT_FALSE(built->engine->cache().Contains("m0-new-1")) << c.what;
  }
}

TEST(ExplainPod, DoesNotTryToPlaceALargeGroup) {
  const auto config = ConfigWith(
      "plugins: {multiPoint: {enabled: [{name: Gangs}]}}, pluginConfig: [{name: Gangs, args: {sources: "
      "[Annotation]}}]");
  FakeCluster cluster;
  cluster.Add(MakeNode("n1").Cpu("100").Memory("8Gi").Pods("200"));
  const auto advised = [&](int members) {
    const auto built = cluster.Build(config);
    api::PodPtr first;
    for (int i = 0; i < members; ++i) {
      const std::string name = "m" + std::to_string(i);
      api::Pod pod = MakePod(name).Uid(name).Cpu("1");
      pod.metadata.annotations.emplace().Set("scheduling.berth.dev/group", "ring");
      pod.metadata.annotations->Set("scheduling.berth.dev/min-members", std::to_string(members + 1));
      const auto member = std::make_shared<const api::Pod>(std::move(pod));
      if (first == nullptr) first = member;
      built->engine->handle().groups.Put(member);
    }
    return AdviceOf(ExplainPod(*built->evaluator, first));
  };
  EXPECT_THAT(advised(60), ElementsAre("create 1 more pod of group/ring -> n1"));
  EXPECT_THAT(advised(61), IsEmpty());
}

TEST(ExplainPod, DescribesOnlyTheFirstClaims) {
  FakeCluster cluster = TwoZones();
  for (int i = 0; i < 1500; ++i)
    cluster.claims.push_back(std::make_shared<const api::PersistentVolumeClaim>(
        berth::testing::MakeClaim(fmt::format("data-{}", i))));
  PodBuilder pod = MakePod("p");
  for (int i = 1400; i < 1600; ++i) pod.raw() = Claiming(pod, fmt::format("data-{}", i));
  const Explanation explanation = Explain(cluster, pod);
  ASSERT_EQ(explanation.pod_reasons.size(), 1U);
  const std::vector<std::string>& values = explanation.pod_reasons.front().values;
  ASSERT_EQ(values.size(), 26U);
  EXPECT_THAT(values[0], HasSubstr("claim default/data-1500 does not exist; nearest existing claim: data-"));
  EXPECT_EQ(values[4], "96 more claims do not exist");
  EXPECT_THAT(values[5], HasSubstr("claim default/data-1400 is not bound"));
  EXPECT_EQ(values[25], "80 more claims exist");
  EXPECT_THAT(explanation.advice, IsEmpty());
}

TEST(ExplainPod, NamesTheVictimsOfAHigherPriority) {
  FakeCluster cluster;
  cluster.Add(MakeNode("n1").Cpu("4").Memory("8Gi"));
  cluster.Run("n1", MakePod("low").Cpu("2").Priority(10));
  cluster.Run("n1", MakePod("high").Cpu("2").Priority(500));
  const Explanation explanation = Explain(cluster, MakePod("p").Cpu("2"));
  const auto by_priority = std::ranges::find_if(explanation.advice, [](const Advice& one) {
    return one.steps.front() == "use a priority class with a value of at least 11 (now 0)";
  });
  ASSERT_NE(by_priority, explanation.advice.end());
  EXPECT_THAT(by_priority->victims, ElementsAre("default/low"));
  EXPECT_EQ(by_priority->victims_node, "n1");
}

// --- preemption ---

std::vector<std::string> NamesOf(const std::vector<PreemptionPreview::Victim>& victims) {
  std::vector<std::string> names;
  for (const auto& victim : victims) names.push_back(victim.pod);
  return names;
}

PodBuilder Started(const std::string& name, std::int32_t priority, std::int64_t at,
                   const std::string& cpu = "4") {
  PodBuilder pod = MakePod(name).Cpu(cpu).Priority(priority);
  pod.raw().status.start_time = at;
  return pod;
}

TEST(ExplainPod, ListsWhatPreemptionWouldEvictOnEachNodeAndWhyTheSelectedOneIsBetter) {
  FakeCluster cluster;
  for (const char* name : {"n1", "n2", "n3", "n4", "n5", "n6"})
    cluster.Add(MakeNode(name).Cpu("4").Memory("8Gi"));
  cluster.Run("n1", Started("higher", 20, 100));
  cluster.Run("n2", Started("a1", 10, 100, "2")).Run("n2", Started("a2", 10, 100, "2"));
  cluster.Run("n3", Started("late", 10, 200));
  cluster.Run("n4", Started("early", 10, 100));
  cluster.Run("n5", Started("as-late", 10, 200));
  cluster.Run("n6", Started("equal", 100, 100));
  const Explanation explanation = Explain(cluster, MakePod("p").Cpu("3").Priority(100));
  ASSERT_EQ(explanation.record->nomination->node, "n3");
  std::vector<std::string> found;
  for (const auto& candidate : explanation.preemption.candidates) {
    found.push_back(fmt::format("{} {}: {}", candidate.node, fmt::join(NamesOf(candidate.victims), " "),
                                candidate.drawback));
  }
  EXPECT_THAT(found, ElementsAre("n3 default/late: ", "n5 default/as-late: ",
                                 "n4 default/early: its most important victim started earlier",
                                 "n2 default/a1 default/a2: more victims",
                                 "n1 default/higher: a victim has a higher priority"));
  const PreemptionPreview::Victim& victim = explanation.preemption.candidates.front().victims.front();
  EXPECT_EQ(victim.priority, 10);
  EXPECT_EQ(victim.started, 200);
  ASSERT_EQ(explanation.preemption.refusals.size(), 1U);
  EXPECT_EQ(explanation.preemption.refusals[0].reason, "No preemption victims found for incoming pod");
  EXPECT_EQ(explanation.preemption.refusals[0].nodes, 1U);
  EXPECT_EQ(explanation.preemption.not_shown, 0U);
}

TEST(ExplainPod, TheNumberOfPreviewedNodesAndVictimsIsBounded) {
  FakeCluster cluster;
  for (int node = 0; node < 40; ++node) {
    const std::string name = fmt::format("n{:02}", node);
    cluster.Add(MakeNode(name).Cpu("40").Memory("8Gi"));
    for (int i = 0; i < 40; ++i) cluster.Run(name, Started(fmt::format("{}-{}", name, i), 0, 100, "1"));
  }
  const PreemptionPreview preview = Explain(cluster, MakePod("p").Cpu("40").Priority(1)).preemption;
  ASSERT_EQ(preview.candidates.size(), kMostPreviewedNodes);
  EXPECT_EQ(preview.candidates[0].victims.size(), kMostPreviewedVictims);
  EXPECT_EQ(preview.candidates[0].victim_count, 40U);
  EXPECT_EQ(preview.not_shown, 40 - kMostPreviewedNodes);
}

TEST(ExplainPod, PreemptionEvictsNothingForAPodThatNeverPreempts) {
  FakeCluster cluster;
  cluster.Add(MakeNode("n1").Cpu("4").Memory("8Gi")).Run("n1", Started("low", 0, 100));
  PodBuilder pod = MakePod("p").Cpu("3").Priority(1);
  pod.raw().spec.never_preempts = true;
  EXPECT_TRUE(Explain(cluster, pod).preemption.empty());
}

TEST(ExplainPod, RefusalsTellWhatMustNotBeEvicted) {
  FakeCluster cluster;
  cluster.Add(MakeNode("n1").Cpu("4").Memory("8Gi")).Run("n1", Started("low", 0, 100));
  const auto plugins = assembly::InTreePlugins();
  config::ParseOptions options;
  options.codecs = &plugins.codecs();
  const auto config = config::ParseSchedulerConfig(
      R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: EvictionBudget}]}}
  pluginConfig: [{name: EvictionBudget, args: {budgets: [{namespace: default, evictions: 0}]}}]
)",
      options);
  const auto built = cluster.Build(config.value());
  const Explanation explanation = ExplainPod(*built->evaluator, MakePod("p").Cpu("3").Priority(1).Share());
  EXPECT_TRUE(explanation.preemption.candidates.empty());
  ASSERT_EQ(explanation.preemption.refusals.size(), 1U);
  EXPECT_EQ(explanation.preemption.refusals[0].reason,
            "node(s) had pods that must not be evicted (namespace default: 0 of 0 evictions in 1h0m0s)");
}

TEST(ExplainPod, EvaluatesABoundPodWithoutItself) {
  FakeCluster cluster = TwoZones();
  const api::PodPtr db = cluster.bound.front();
  const auto built = cluster.Build();
  const Explanation explanation = ExplainPod(*built->evaluator, db);
  EXPECT_EQ(explanation.bound_to, "n1");
  EXPECT_EQ(explanation.record->result, record::Result::kScheduled);
  EXPECT_THAT(explanation.advice, IsEmpty());
  EXPECT_TRUE(built->engine->cache().Contains(db->metadata.uid)) << "the pod is back";
}

TEST(ExplainPod, OwnersAreDeploymentsOrControllers) {
  const auto owner = [](const char* kind, const char* name, const char* hash) {
    api::Pod pod = MakePod("p").Label("pod-template-hash", hash);
    pod.metadata.controller =
        api::OwnerReference{.api_version = "v1", .kind = kind, .name = name, .uid = "u"};
    return OwnerOf(pod);
  };
  EXPECT_EQ(owner("ReplicaSet", "web-5d8f", "5d8f"), "Deployment default/web");
  EXPECT_EQ(owner("ReplicaSet", "web", "5d8f"), "ReplicaSet default/web");
  EXPECT_EQ(owner("StatefulSet", "db", ""), "StatefulSet default/db");
  EXPECT_EQ(OwnerOf(MakePod("p")), "");
}

}  // namespace
}  // namespace berth::explanation
