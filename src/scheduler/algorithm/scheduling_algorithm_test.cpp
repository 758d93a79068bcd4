#include "scheduler/algorithm/scheduling_algorithm.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "scheduler/assembly/engine.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "testing/builders.hpp"
#include "testing/fakes.hpp"

namespace berth::algorithm {
namespace {

using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::PodBuilder;
using berth::testing::Term;
using cluster::Row;
using record::Result;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class SchedulingAlgorithmTest : public ::testing::Test {
 protected:
  SchedulingAlgorithmTest() { Configure(config::DefaultSchedulerConfig()); }
  void Configure(const config::SchedulerConfig& config,
                 runtime::Registry registry = assembly::InTreePlugins()) {
    std::vector<std::string> notes;
    engine = std::move(assembly::Engine::Build(config, registry, ports.ports(), notes)).value();
    Options({});
  }
  void Options(const AlgorithmOptions& options) {
    algorithm.emplace(options, engine->reasons(), engine->extenders());
  }
  void Add(const api::Node& node) { engine->cache().AddNode(std::make_shared<const api::Node>(node)); }
  void AddAlike(int count) {
    for (int i = 0; i < count; ++i) Add(MakeNode("n" + std::to_string(i)).Cpu("4").Memory("8Gi"));
  }
  cluster::PodInfo Info(const PodBuilder& pod) { return cluster::PreparePod(pod.Share(), engine->symbols()); }
  ScheduleResult Schedule(const PodBuilder& pod, const std::vector<runtime::Nomination>& nominations = {}) {
    cluster::ClusterState& cache = engine->cache();
    return algorithm->Schedule(Info(pod), *engine->profiles()[0],
                               {cache.nodes(), cache.VisitingOrder(), NamesOf(cache.nodes())}, nominations);
  }
  Row RowOf(const std::string& node) { return engine->cache().nodes().Find(node); }
  std::string Name(const ScheduleResult& decision) { return engine->cache().nodes().name(decision.row); }

  assembly::DryRunPorts ports;
  std::unique_ptr<assembly::Engine> engine;
  std::optional<SchedulingAlgorithm> algorithm;
};

TEST_F(SchedulingAlgorithmTest, WithoutNodesThePodHasNoRejectors) {
  const ScheduleResult decision = Schedule(MakePod());
  EXPECT_EQ(decision.record->result, Result::kUnschedulable);
  EXPECT_EQ(decision.record->message, "no nodes available to schedule pods");
  EXPECT_THAT(decision.rejectors, IsEmpty());
  EXPECT_EQ(decision.row, cluster::kNoRow);
}

TEST_F(SchedulingAlgorithmTest, TheOnlyFeasibleNodeIsNotScored) {
  Add(MakeNode("small").Cpu("1"));
  Add(MakeNode("large").Cpu("8"));
  const ScheduleResult decision = Schedule(MakePod().Cpu("2"));
  EXPECT_EQ(Name(decision), "large");
  EXPECT_FALSE(decision.record->scored);
  EXPECT_THAT(decision.record->scores.plugins(), IsEmpty());
}

TEST_F(SchedulingAlgorithmTest, TheBestNodeIsSelected) {
  Add(MakeNode("a").Cpu("4").Memory("8Gi"));
  Add(MakeNode("b").Cpu("8").Memory("16Gi"));
  Add(MakeNode("c").Cpu("4").Memory("8Gi").Taint("k", "", "PreferNoSchedule"));
  const ScheduleResult decision = Schedule(MakePod().Cpu("1").Memory("2Gi"));
  EXPECT_EQ(Name(decision), "b");
  EXPECT_EQ(decision.record->Best().Count(), 1U);
  EXPECT_GT(decision.record->Total(RowOf("b")), decision.record->Total(RowOf("a")));
  EXPECT_GT(decision.record->Total(RowOf("a")), decision.record->Total(RowOf("c")));
}

TEST_F(SchedulingAlgorithmTest, TiesAreBrokenRandomlyAmongAllBestNodes) {
  AddAlike(5);
  Add(MakeNode("worse").Cpu("4").Memory("8Gi").Taint("k", "", "PreferNoSchedule"));
  std::set<std::string> drawn;
  for (int i = 0; i < 200; ++i) drawn.insert(Name(Schedule(MakePod().Cpu("1").Memory("1Gi"))));
  EXPECT_THAT(drawn, ElementsAre("n0", "n1", "n2", "n3", "n4"));
}

TEST_F(SchedulingAlgorithmTest, EqualSeedsGiveEqualChoices) {
  AddAlike(10);
  const auto draws = [&](std::uint64_t seed) {
    Options({.seed = seed});
    std::vector<Row> rows;
    for (int i = 0; i < 20; ++i) rows.push_back(Schedule(MakePod()).row);
    return rows;
  };
  EXPECT_EQ(draws(3), draws(3));
  EXPECT_NE(draws(3), draws(4));
}

TEST_F(SchedulingAlgorithmTest, AfterRestoreTheSameDecisionsHaveTheSameResults) {
  AddAlike(150);
  AlgorithmOptions options;
  options.sample = true;
  options.percentage_of_nodes_to_score = 70;
  Options(options);
  const auto decide = [&] {
    std::vector<std::string> nodes;
    for (int i = 0; i < 10; ++i) nodes.push_back(Name(Schedule(MakePod().Cpu("1"))));
    return nodes;
  };
  decide();
  const SchedulingAlgorithm::Position position = algorithm->position();
  const std::vector<std::string> nodes = decide();
  EXPECT_NE(decide(), nodes);
  algorithm->Restore(position);
  EXPECT_EQ(decide(), nodes);
}

TEST_F(SchedulingAlgorithmTest, AMembersScoresAreRecordedOnlyIfWanted) {
  Add(MakeNode("a").Cpu("4"));
  Add(MakeNode("b").Cpu("8"));
  Add(MakeNode("c").Cpu("16"));
  cluster::ClusterState& cache = engine->cache();
  RowSet within(cache.nodes().rows());
  within.Add(RowOf("a"));
  within.Add(RowOf("b"));
  for (const RecordedScores recorded : {RecordedScores::kAll, RecordedScores::kNone}) {
    const ScheduleResult decision = algorithm->ScheduleMember(
        Info(MakePod().Cpu("1")), *engine->profiles()[0],
        {cache.nodes(), cache.VisitingOrder(), NamesOf(cache.nodes())}, within, recorded, {});
    EXPECT_EQ(Name(decision), "b");
    EXPECT_EQ(decision.record->scored, recorded == RecordedScores::kAll);
    EXPECT_EQ(decision.record->scores.plugins().empty(), recorded == RecordedScores::kNone);
  }
}

TEST_F(SchedulingAlgorithmTest, TheDeterministicTieBreakSelectsTheFirstByName) {
  for (const auto* name : {"m", "b", "z"}) Add(MakeNode(name).Cpu("4"));
  Options({.tie_break = TieBreak::kFirstByName});
  EXPECT_EQ(Name(Schedule(MakePod())), "b");
}

TEST_F(SchedulingAlgorithmTest, RejectorsAreThePluginsThatRejectedNodes) {
  Add(MakeNode("a").Cpu("1"));
  Add(MakeNode("b").Cpu("8").Taint("k", "", "NoSchedule"));
  const ScheduleResult decision = Schedule(MakePod().Cpu("2"));
  EXPECT_EQ(decision.record->result, Result::kUnschedulable);
  EXPECT_THAT(
      decision.record->message,
      StartsWith("0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s). "));
  EXPECT_THAT(decision.rejectors, ElementsAre("NodeResourcesFit", "TaintToleration"));
}

TEST_F(SchedulingAlgorithmTest, PluginsThatLimitedTheNodesAreRejectors) {
  Add(MakeNode("a").Cpu("1"));
  Add(MakeNode("b").Cpu("8"));
  const ScheduleResult decision =
      Schedule(MakePod().Cpu("2").Requiring({Term({}, {{"metadata.name", "In", {"a"}}})}));
  EXPECT_THAT(decision.rejectors, ElementsAre("NodeAffinity", "NodeResourcesFit"));
  EXPECT_THAT(decision.record->message, StartsWith("0/2 nodes are available: 1 Insufficient cpu, 1 node(s) "
                                                   "didn't satisfy plugin(s) [NodeAffinity]. "));
  EXPECT_EQ(decision.record->excluding_plugins, "NodeAffinity");
}

TEST_F(SchedulingAlgorithmTest, ARejectionByPreFilterNamesItsPlugin) {
  AddAlike(2);
  const ScheduleResult decision = Schedule(
      MakePod().Requiring({Term({}, {{"metadata.name", "In", {"a"}}, {"metadata.name", "In", {"b"}}})}));
  EXPECT_THAT(decision.record->message, StartsWith("0/2 nodes are available: pod affinity terms conflict. "));
  EXPECT_THAT(decision.rejectors, ElementsAre("NodeAffinity"));
}

TEST_F(SchedulingAlgorithmTest, AnErrorHasNoRejectors) {
  AddAlike(2);
  const ScheduleResult decision = Schedule(MakePod().Preferring(1, Term({{"a", "Near", {}}})));
  EXPECT_EQ(decision.record->result, Result::kError);
  EXPECT_THAT(decision.rejectors, IsEmpty());
  EXPECT_EQ(decision.row, cluster::kNoRow);
}

// --- nominations ---

TEST_F(SchedulingAlgorithmTest, AFeasibleNominatedNodeEndsTheSearch) {
  Add(MakeNode("a").Cpu("64").Memory("64Gi"));
  Add(MakeNode("b").Cpu("2").Memory("4Gi"));
  const ScheduleResult decision = Schedule(MakePod().Cpu("1").Nominated("b"));
  EXPECT_EQ(Name(decision), "b");
  EXPECT_FALSE(decision.record->scored);
  EXPECT_EQ(decision.record->feasible.Count(), 2U) << "the verdicts of the others are recorded nevertheless";
}

TEST_F(SchedulingAlgorithmTest, AnInfeasibleOrDeletedNominatedNodeIsIgnored) {
  Add(MakeNode("a").Cpu("64"));
  Add(MakeNode("b").Cpu("1"));
  EXPECT_EQ(Name(Schedule(MakePod().Cpu("2").Nominated("b"))), "a");
  EXPECT_EQ(Name(Schedule(MakePod().Cpu("2").Nominated("gone"))), "a");
}

TEST_F(SchedulingAlgorithmTest, NominatedPodsOfEqualOrHigherPriorityUseTheirNode) {
  Add(MakeNode("a").Cpu("4"));
  Add(MakeNode("b").Cpu("1"));
  const auto promised = Info(MakePod("promised").Cpu("3").Priority(5));
  const std::vector<runtime::Nomination> nominations{{RowOf("a"), &promised}};
  EXPECT_EQ(Schedule(MakePod().Cpu("2").Priority(5), nominations).record->result, Result::kUnschedulable);
  EXPECT_EQ(Name(Schedule(MakePod().Cpu("2").Priority(6), nominations)), "a");
  EXPECT_EQ(Name(Schedule(MakePod().Cpu("1").Priority(5), nominations)), "a")
      << "beside the promise there is room for one core";
}

TEST_F(SchedulingAlgorithmTest, NominationsInAnyOrderRepelThePodFromTheirNodes) {
  constexpr const char* kHostname = "kubernetes.io/hostname";
  for (const char* name : {"n0", "n1", "n2", "n3", "free"})
    Add(MakeNode(name).Cpu("4").Label(kHostname, name));
  const auto plain = Info(MakePod("plain").Cpu("1"));
  const auto web = Info(MakePod("promised").Label("app", "web").Cpu("1"));
  PodBuilder alone = MakePod("alone").Cpu("1");
  api::PodAffinityTerm& term = alone.raw().spec.pod_anti_affinity.emplace().required.emplace_back();
  term.label_selector.emplace().match_labels.Set("app", "web");
  term.topology_key = kHostname;
  const ScheduleResult decision = Schedule(alone, {{RowOf("n2"), &plain},
                                                   {RowOf("n3"), &web},
                                                   {RowOf("n0"), &web},
                                                   {RowOf("n2"), &web},
                                                   {RowOf("n1"), &web}});
  EXPECT_EQ(Name(decision), "free");
  EXPECT_EQ(decision.record->feasible.Count(), 1U);
}

TEST_F(SchedulingAlgorithmTest, APodsOwnNominationIsIgnored) {
  Add(MakeNode("a").Cpu("4"));
  const auto self = Info(MakePod("self").Cpu("3").Nominated("a"));
  EXPECT_EQ(Name(Schedule(MakePod("self").Cpu("3").Nominated("a"), {{RowOf("a"), &self}})), "a");
}

TEST_F(SchedulingAlgorithmTest, AFilterThatWasSkippedForTheShapeIsCalledWhenAPodRepelsIt) {
  constexpr const char* kZone = "topology.kubernetes.io/zone";
  for (const auto* large : {"a1", "a2"}) Add(MakeNode(large).Zone("a").Cpu("64"));
  for (const auto* small : {"b1", "b2", "b3", "b4", "b5", "b6", "b7"})
    Add(MakeNode(small).Zone("b").Cpu("4"));
  const PodBuilder web = MakePod("web").Label("app", "web").Cpu("1");
  for (int i = 0; i < 3; ++i) EXPECT_THAT(Name(Schedule(web)), StartsWith("a"));
  PodBuilder alone = MakePod("alone").OnNode("a1");
  api::PodAffinityTerm& term = alone.raw().spec.pod_anti_affinity.emplace().required.emplace_back();
  term.label_selector.emplace().match_labels.Set("app", "web");
  term.topology_key = kZone;
  engine->cache().AddPod(alone.Share());
  EXPECT_THAT(Name(Schedule(web)), StartsWith("b")) << "a2 is in the zone of the pod that repels it";
}

// Returns an error for nodes whose name begins with "odd".
class FailingFilter final : public framework::FilterPlugin {
 public:
  explicit FailingFilter(framework::Handle&) {}
  std::string_view Name() const override { return "Confused"; }
  void Filter(const framework::Attempt& attempt, const RowSet& candidates,
              framework::Rejections& out) const override {
    candidates.ForEach([&](std::size_t row) {
      if (attempt.nodes().name(static_cast<Row>(row)).starts_with("odd"))
        out.Fail(static_cast<std::uint32_t>(row), "odd name");
    });
  }
};

TEST_F(SchedulingAlgorithmTest, ANominatedNodeWithAnErrorIsNotSelected) {
  auto config = config::DefaultSchedulerConfig();
  config.profiles[0].at(config::Point::kMultiPoint).enabled.push_back({"Confused", 0});
  runtime::Registry registry = assembly::InTreePlugins();
  registry.Add("Confused", framework::Make<FailingFilter>);
  Configure(config, registry);
  Add(MakeNode("odd1"));
  Add(MakeNode("even2"));
  const ScheduleResult decision = Schedule(MakePod().Nominated("odd1"));
  EXPECT_EQ(decision.record->result, Result::kError);
  EXPECT_EQ(decision.record->message, "running \"Confused\" filter plugin: odd name");
}

// --- sampling ---

TEST_F(SchedulingAlgorithmTest, SamplingFindsAPercentageAndContinuesAfterTheLastNode) {
  AddAlike(400);
  Options({.percentage_of_nodes_to_score = 50});
  const RowSet first = Schedule(MakePod()).record->feasible;
  const RowSet second = Schedule(MakePod()).record->feasible;
  EXPECT_EQ(first.Count(), 200U);
  EXPECT_EQ(second.Count(), 200U);
  RowSet both = first;
  both &= second;
  EXPECT_TRUE(both.Empty()) << "the start index wraps around";
  EXPECT_TRUE(Schedule(MakePod()).record->feasible == first);
}

TEST_F(SchedulingAlgorithmTest, SamplingContinuesAtTheNextFeasibleNode) {
  for (int i = 0; i < 300; ++i) {
    auto node = MakeNode(fmt::format("node{:03}", i));
    if (i >= 100 && i < 110) node.Cordoned();
    Add(node);
  }
  Options({.percentage_of_nodes_to_score = 5});
  const auto first = Schedule(MakePod()).record;
  EXPECT_EQ(first->feasible.Count(), 100U);
  EXPECT_TRUE(first->sampled);
  const RowSet second =
      Schedule(MakePod().Tolerating("node.kubernetes.io/unschedulable", "Exists")).record->feasible;
  EXPECT_EQ(second.First(), 110U) << "the cordoned nodes count as visited";
  EXPECT_EQ(second.Count(), 100U);
}

TEST_F(SchedulingAlgorithmTest, ASearchThatPreFilterLimitsAdvancesTheStart) {
  AddAlike(200);
  Options({.percentage_of_nodes_to_score = 5});
  const auto limited = MakePod().Requiring({testing::Term({}, {{"metadata.name", "In", {"n7"}}})});
  EXPECT_EQ(Schedule(limited).record->feasible.Count(), 1U);
  EXPECT_EQ(Schedule(limited).record->feasible.Count(), 1U);
  const RowSet sample = Schedule(MakePod()).record->feasible;
  EXPECT_EQ(sample.First(), 2U) << "two nodes have been visited";
  EXPECT_EQ(sample.Count(), 100U);
}

TEST_F(SchedulingAlgorithmTest, SamplingFindsAtLeastAHundredNodes) {
  AddAlike(400);
  Options({.percentage_of_nodes_to_score = 5});
  EXPECT_EQ(Schedule(MakePod()).record->feasible.Count(), 100U);
}

TEST_F(SchedulingAlgorithmTest, FewNodesAndZeroAndAHundredPercentMeanAll) {
  AddAlike(99);
  Options({.percentage_of_nodes_to_score = 5});
  EXPECT_EQ(Schedule(MakePod()).record->feasible.Count(), 99U);
  for (int i = 0; i < 100; ++i) Add(MakeNode("more" + std::to_string(i)));
  Options({.percentage_of_nodes_to_score = 0});
  EXPECT_EQ(Schedule(MakePod()).record->feasible.Count(), 199U);
  Options({.percentage_of_nodes_to_score = 100});
  EXPECT_EQ(Schedule(MakePod()).record->feasible.Count(), 199U);
  Options({.percentage_of_nodes_to_score = 60, .sample = false});
  EXPECT_EQ(Schedule(MakePod()).record->feasible.Count(), 199U);
}

TEST_F(SchedulingAlgorithmTest, TheAdaptivePercentageEqualsThatOfKubeScheduler) {
  AddAlike(400);
  Options({.adaptive = true});
  EXPECT_EQ(Schedule(MakePod()).record->feasible.Count(), 188U) << "50 - 400/125 percent";
  Options({.percentage_of_nodes_to_score = 100, .adaptive = true});
  EXPECT_EQ(Schedule(MakePod()).record->feasible.Count(), 400U);
}

TEST_F(SchedulingAlgorithmTest, TheProfilesPercentageTakesPrecedence) {
  auto config = config::DefaultSchedulerConfig();
  config.profiles[0].percentage_of_nodes_to_score = 30;
  Configure(config);
  AddAlike(400);
  Options({.percentage_of_nodes_to_score = 90});
  EXPECT_EQ(Schedule(MakePod()).record->feasible.Count(), 120U);
}

}  // namespace
}  // namespace berth::algorithm
