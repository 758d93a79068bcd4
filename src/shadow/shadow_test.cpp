#include "shadow/shadow.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "assembly/in_tree_plugins.hpp"
#include "shadow/tap.hpp"
#include "testing/builders.hpp"
#include "testing/fakes.hpp"

namespace berth::shadow {
namespace {

using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::NodeBuilder;
using berth::testing::PodBuilder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

// Another scheduler is played by the test; the world is what the watches bring.
class ShadowTest : public ::testing::Test {
 protected:
  ShadowTest() { Begin({}); }
  ~ShadowTest() override {
    EXPECT_THAT(api.bindings, IsEmpty());
    EXPECT_THAT(api.patches, IsEmpty());
    EXPECT_THAT(api.deletions, IsEmpty());
    EXPECT_THAT(events.events, IsEmpty());
  }

  void Begin(ShadowOptions options, std::size_t keep = 8) {
    tap.reset();
    shadow.reset();
    report.reset();
    follower.reset();
    std::vector<std::string> notes;
    engine = std::move(
        assembly::Engine::Build(config::DefaultSchedulerConfig(), assembly::InTreePlugins(), api, notes)
            .value());
    core::SchedulerOptions following;
    following.stand_by = true;
    follower.emplace(following, core::SchedulerParts{engine->handle(), engine->cache(), engine->profiles(),
                                                     events, clock, nobody_looks});
    report.emplace(keep, clock, metrics);
    shadow.emplace(options, *engine, clock, *report);
    tap.emplace(*follower, *shadow);
  }
  void Settle() {
    while (follower->Turn()) {
    }
  }
  void Sync() {
    tap->OnSynced();
    Settle();
  }
  void Wait(Duration time) {
    clock.Advance(time);
    Settle();
  }
  // Until nothing is waited for any more.
  void Conclude() { Wait(std::chrono::seconds(2)); }

  void Node(const NodeBuilder& node) {
    api::NodePtr shared = node.Share();
    const std::string name = shared->metadata.name;
    tap->On(framework::Change<api::Node>{nodes.contains(name) ? nodes[name] : nullptr, shared});
    nodes[name] = shared;
    Settle();
  }
  // As it is from now on; a pod that is new appears.
  void Pod(api::Pod pod) {
    pod.metadata.resource_version = std::to_string(++version);
    if (pod.metadata.uid.empty()) pod.metadata.uid = "u-" + pod.metadata.name;
    auto shared = std::make_shared<const api::Pod>(std::move(pod));
    const std::string name = shared->metadata.name;
    tap->On(framework::Change<api::Pod>{pods.contains(name) ? pods[name] : nullptr, shared});
    pods[name] = shared;
    Settle();
  }
  void Gone(const std::string& name) {
    tap->On(framework::Change<api::Pod>{pods[name], nullptr});
    pods.erase(name);
    Settle();
  }
  void Binds(const std::string& name, const std::string& node) {
    api::Pod bound = *pods[name];
    bound.spec.node_name = node;
    Pod(bound);
  }
  void Fails(const std::string& name, const std::string& message, const std::string& nominated = "",
             const std::string& reason = "Unschedulable") {
    api::Pod failed = *pods[name];
    api::PodCondition condition;
    condition.type = "PodScheduled";
    condition.status = "False";
    condition.reason = reason;
    condition.message = message;
    failed.status.conditions = {};
    failed.status.conditions.push_back(condition);
    failed.status.nominated_node_name = nominated;
    Pod(failed);
  }

  // The one comparison that was made.
  std::string Only() const {
    std::string found;
    for (std::size_t i = 0; i < kOutcomes; ++i) {
      const auto outcome = static_cast<Outcome>(i);
      const auto count = report->Count(outcome);
      if (count > 0) found += (found.empty() ? "" : " ") + std::string(OutcomeName(outcome));
      if (count > 1) found += " x" + std::to_string(count);
    }
    return found;
  }

  ManualClock clock;
  metrics::Registry metrics, nobody_looks;
  berth::testing::FakeApiWriter api;
  berth::testing::FakeEventSink events;
  std::unique_ptr<assembly::Engine> engine;
  std::optional<core::Scheduler> follower;
  std::optional<Report> report;
  std::optional<Shadow> shadow;
  std::optional<Tap> tap;
  std::map<std::string, api::NodePtr> nodes;
  std::map<std::string, api::PodPtr> pods;
  std::uint64_t version = 100;
};

NodeBuilder Roomy(const std::string& name) { return MakeNode(name).Cpu("8").Memory("16Gi"); }
PodBuilder Small(const std::string& name) { return MakePod(name).Cpu("1").Memory("1Gi"); }

TEST_F(ShadowTest, ABindingIsJudgedOnTheClusterThatItMet) {
  struct Row {
    const char* what;
    const char* node;
    const char* outcome;
    const char* plugin;
    const char* reason;
  };
  const Row rows[] = {
      {"the emptiest node is the best", "empty", "same", "", ""},
      {"one that is used more has a lower score", "used", "worse", "NodeResourcesFit", "lower score"},
      {"a full one is rejected", "full", "infeasible", "NodeResourcesFit", "Insufficient cpu"},
      {"so is one that is cordoned", "closed", "infeasible", "NodeUnschedulable",
       "node(s) were unschedulable"},
      {"nobody has heard of it", "elsewhere", "infeasible", "", "Berth does not know the node"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    nodes.clear();
    pods.clear();
    Begin({});
    for (const char* name : {"empty", "used", "full"}) Node(Roomy(name));
    Node(Roomy("closed").Cordoned());
    Pod(MakePod("a").Cpu("4").Memory("4Gi").OnNode("used"));
    Pod(MakePod("b").Cpu("8").Memory("4Gi").OnNode("full"));
    Sync();
    Pod(Small("web"));
    Binds("web", row.node);
    Conclude();
    EXPECT_EQ(Only(), row.outcome);
    if (*row.reason == 0) continue;
    ASSERT_THAT(report->Disagreements(), SizeIs(1));
    const Comparison found = report->Disagreements().front();
    EXPECT_EQ(found.plugin, row.plugin);
    EXPECT_EQ(found.reason, row.reason);
    EXPECT_EQ(found.ours.node, "empty");
    EXPECT_EQ(found.theirs.node, row.node);
    EXPECT_EQ(found.pod, "default/web");
    EXPECT_THAT(ToText(found), HasSubstr(row.reason));
  }
}

TEST_F(ShadowTest, AmongEqualNodesEitherIsAgreedTo) {
  for (const char* name : {"a", "b", "c"}) Node(Roomy(name));
  Sync();
  Pod(Small("web"));
  Binds("web", "c");
  EXPECT_EQ(Only(), "tie");
}

TEST_F(ShadowTest, WhatScoresAreMadeOfIsToldOfBothNodes) {
  for (const char* name : {"a", "b"}) Node(Roomy(name));
  Pod(MakePod("other").Cpu("4").Memory("8Gi").OnNode("b"));
  Sync();
  Pod(Small("web"));
  Binds("web", "b");
  Conclude();
  ASSERT_THAT(report->Disagreements(), SizeIs(1));
  const Comparison found = report->Disagreements().front();
  EXPECT_LT(found.their_total, found.our_total);
  std::int64_t gap = 0;
  for (const ScorePart& part : found.parts) gap += part.weight * (part.ours - part.theirs);
  EXPECT_EQ(gap, found.our_total - found.their_total);
  EXPECT_EQ(found.better, 1U);
  EXPECT_THAT(ToJson(found), HasSubstr(R"("scores":[{"plugin":"NodeResources)"));
}

TEST_F(ShadowTest, OnlyPodsOfItsProfilesThatWaitedAreCompared) {
  Node(Roomy("a"));
  Pod(Small("before"));
  Binds("before", "a");  // the first lists: nobody knows when that was
  Sync();
  Pod(Small("foreign").Scheduler("somebody-else"));
  Binds("foreign", "a");
  Pod(Small("static").OnNode("a"));
  Conclude();
  EXPECT_EQ(Only(), "");
}

// --- sampling

TEST_F(ShadowTest, ALowerScoreIsSampledIfKubeSchedulerNeedNotHaveSeenABetterNode) {
  struct Row {
    const char* what;
    std::int64_t percentage;
    int used;  // of 300 nodes, one after the other; the pod goes to the first of them
    const char* outcome;
  };
  const Row rows[] = {
      {"141 of 300 are looked at, and so many do not have a better one among them", 0, 200, "sampled"},
      {"more are better than are left out: one of them was looked at", 0, 100, "worse"},
      {"all are looked at", 100, 200, "worse"},
      {"a tenth is looked at, but never less than a hundred", 10, 101, "sampled"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    nodes.clear();
    pods.clear();
    Begin({.percentage_of_nodes_to_score = row.percentage});
    for (int i = 0; i < 300; ++i) {
      const std::string name = std::to_string(1000 + i);
      Node(Roomy(name));
      if (i < row.used) Pod(MakePod("on-" + name).Cpu("4").Memory("8Gi").OnNode(name));
    }
    Sync();
    Pod(Small("web"));
    Binds("web", "1000");
    Conclude();
    EXPECT_EQ(Only(), row.outcome);
    if (report->Explained().empty()) continue;
    const std::string because = report->Explained().front().because;
    EXPECT_THAT(because, HasSubstr("of the 300 nodes that fit"));
    EXPECT_THAT(because, HasSubstr("and this is the best of the"));
  }
}

// --- failures

constexpr const char* kTooSmall =
    "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 Preemption is not "
    "helpful for scheduling.";

TEST_F(ShadowTest, AFailureIsComparedWordForWord) {
  struct Row {
    const char* what;
    const char* cpu;
    const char* message;
    const char* outcome;
  };
  const Row rows[] = {
      {"both say the same", "64", kTooSmall, "unschedulable"},
      {"the same of other numbers of nodes", "64",
       "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: 3 Preemption is "
       "not "
       "helpful for scheduling.",
       "counts"},
      {"other reasons", "64", "0/2 nodes are available: 2 Insufficient memory.", "message"},
      {"Berth has a place for it", "1", kTooSmall, "placeable"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    nodes.clear();
    pods.clear();
    Begin({});
    for (const char* name : {"a", "b"}) Node(Roomy(name));
    Sync();
    Pod(MakePod("web").Cpu(row.cpu));
    Fails("web", row.message);
    Conclude();
    EXPECT_EQ(Only(), row.outcome);
  }
}

TEST_F(ShadowTest, APreemptionIsAgreedToOnAnyEquallyGoodNodeAndDrivesNobodyOut) {
  for (const char* name : {"a", "b", "c"}) Node(MakeNode(name).Cpu("2").Memory("4Gi"));
  Pod(MakePod("on-a").Cpu("2").OnNode("a"));
  Pod(MakePod("on-b").Cpu("2").OnNode("b"));
  Pod(MakePod("on-c").Cpu("2").Priority(5).OnNode("c"));
  Sync();
  Pod(MakePod("first").Cpu("1").Priority(10));
  Fails("first", "0/3 nodes are available: 3 Insufficient cpu. preemption: whatever", "b");
  EXPECT_EQ(Only(), "unschedulable");
  Gone("first");
  Pod(MakePod("second").Cpu("1").Priority(10));
  Fails("second", "0/3 nodes are available: 3 Insufficient cpu. preemption: whatever", "c");
  Conclude();
  EXPECT_EQ(Only(), "unschedulable nomination");
  ASSERT_THAT(report->Disagreements(), SizeIs(1));
  EXPECT_EQ(report->Disagreements().front().ours.nominated, "a");
  EXPECT_THAT(report->Disagreements().front().victims, ::testing::ElementsAre("default/on-a"));
}

TEST_F(ShadowTest, ErrorsOfTheOtherAndNominationsThatAreTakenBackAreNoDecisions) {
  Node(Roomy("a"));
  Sync();
  Pod(MakePod("web").Cpu("64"));
  Fails("web", "running PreFilter plugin: no", "", "SchedulerError");
  EXPECT_EQ(Only(), "their_error");
  Pod(MakePod("other").Cpu("64"));
  Fails(
      "other",
      "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Preemption is not "
      "helpful for scheduling.",
      "a");
  Conclude();
  const std::string before = Only();
  api::Pod cleared = *pods["other"];
  cleared.status.nominated_node_name = "";
  Pod(cleared);
  Conclude();
  EXPECT_EQ(Only(), before);
}

// --- races

TEST_F(ShadowTest, APodThatWasDecidedFirstMayBeSeenLater) {
  for (const char* name : {"a", "b"}) Node(Roomy(name));
  Pod(MakePod("on-b").Cpu("2").Memory("4Gi").OnNode("b"));
  Sync();
  Pod(MakePod("first").Cpu("6").Memory("12Gi"));
  Pod(MakePod("second").Cpu("1").Memory("1Gi"));
  Binds("second", "b");  // because a is full of the first one, which nobody has seen there yet
  EXPECT_EQ(Only(), "");
  Binds("first", "a");
  EXPECT_EQ(Only(), "same");  // the first one, at once
  Conclude();
  EXPECT_EQ(Only(), "same raced");
  ASSERT_THAT(report->Explained(), SizeIs(1));
  EXPECT_THAT(report->Explained().front().because, HasSubstr("knowing already of pod default/first on a"));
  EXPECT_THAT(report->Explained().front().at_first, StartsWith("worse (NodeResourcesFit"));
}

TEST_F(ShadowTest, WhatTheOtherDidNotKnowYetExplainsItsChoice) {
  Node(Roomy("a"));
  Node(Roomy("b"));
  Pod(MakePod("on-b").Cpu("4").Memory("8Gi").OnNode("b"));
  Sync();
  Pod(Small("web"));
  Node(Roomy("a").Cordoned());
  Binds("web", "a");
  Conclude();
  EXPECT_EQ(Only(), "raced");
  ASSERT_THAT(report->Explained(), SizeIs(1));
  EXPECT_EQ(report->Explained().front().because, "decided before it knew of node a changed");
  EXPECT_THAT(report->Explained().front().at_first, HasSubstr("node(s) were unschedulable"));
}

TEST_F(ShadowTest, WhatTheOtherKnewFirstExplainsItsChoice) {
  Node(Roomy("b"));
  Sync();
  Pod(Small("web"));
  Binds("web", "a");
  Node(Roomy("a"));
  Conclude();
  EXPECT_EQ(Only(), "raced");
}

TEST_F(ShadowTest, AFailureIsOfTheClusterBeforeSomebodyLeft) {
  Node(MakeNode("a").Cpu("2").Memory("4Gi"));
  Pod(MakePod("old").Cpu("2").OnNode("a"));
  Sync();
  Pod(Small("web"));
  Gone("old");
  Fails("web",
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption "
        "victims "
        "found for incoming pod.");
  Conclude();
  EXPECT_EQ(Only(), "raced");
}

TEST_F(ShadowTest, WhatHappenedLongAgoExplainsNothing) {
  Begin({.window = std::chrono::seconds(5)});
  Node(Roomy("a"));
  Node(Roomy("b"));
  Sync();
  Pod(Small("web"));
  Node(Roomy("a").Cordoned());
  Wait(std::chrono::seconds(10));
  Binds("web", "a");
  Conclude();
  EXPECT_EQ(Only(), "infeasible");
}

TEST_F(ShadowTest, TheClusterIsAsItWasAfterOtherViewsWereTried) {
  Node(Roomy("a"));
  Node(Roomy("b"));
  Sync();
  for (int i = 0; i < 6; ++i) {
    const std::string name = "p" + std::to_string(i);
    Pod(Small(name));
    Binds(name, i % 2 == 0 ? "a" : "b");
  }
  Node(Roomy("c"));
  Gone("p0");
  Pod(MakePod("web").Cpu("64"));
  Binds("web", "a");  // no view can explain this
  Node(Roomy("b").Cordoned());
  Conclude();
  EXPECT_EQ(report->Count(Outcome::kInfeasible), 1U);
  const framework::NodeTable& table = engine->cache().nodes();
  const auto used = [&](const char* name) {
    return table.requested(framework::kCpu)[table.Find(engine->vocabulary().node_names.Find(name))];
  };
  EXPECT_EQ(used("a"), 66000);
  EXPECT_EQ(used("b"), 3000);
  EXPECT_EQ(used("c"), 0);
  EXPECT_EQ(engine->cache().pod_count(), 6U);
  const auto same = report->Count(Outcome::kSame);
  Pod(Small("next"));
  Binds("next", "c");
  EXPECT_EQ(report->Count(Outcome::kSame), same + 1);  // a is full, b is closed
}

TEST_F(ShadowTest, WhatAnInterruptedWatchBringsIsNotJudged) {
  Node(Roomy("a"));
  Sync();
  Pod(Small("early"));
  Pod(Small("late"));
  version = 500;
  Binds("late", "a");
  version = 200;
  Binds("early", "a");  // a list brings it, sorted by name
  EXPECT_EQ(report->Count(Outcome::kMissed), 1U);
}

// --- bounds and the end

TEST_F(ShadowTest, OnlySoManyDisagreementsAreKept) {
  Begin({}, 4);
  Node(Roomy("a"));
  Sync();
  for (int i = 0; i < 10; ++i) {
    const std::string name = "p" + std::to_string(i);
    Pod(MakePod(name).Cpu("64"));
    Binds(name, "a");
    Conclude();
    Gone(name);
  }
  EXPECT_EQ(report->Count(Verdict::kDisagreed), 10U);
  ASSERT_THAT(report->Disagreements(), SizeIs(4));
  EXPECT_EQ(report->Disagreements().back().pod, "default/p9");
}

TEST_F(ShadowTest, NoMoreThanSoManyChoicesWait) {
  Begin({.waiting = 2});
  Node(Roomy("a"));
  Sync();
  for (int i = 0; i < 5; ++i) {
    const std::string name = "p" + std::to_string(i);
    Pod(MakePod(name).Cpu("64"));
    Binds(name, "a");
  }
  EXPECT_EQ(report->Count(Outcome::kInfeasible), 3U);
  shadow->Finish();
  EXPECT_EQ(report->Count(Outcome::kInfeasible), 5U);
}

TEST_F(ShadowTest, CausesWithoutEndAreCountedTogether) {
  Comparison comparison;
  comparison.profile = "default-scheduler";
  comparison.theirs.node = "a";
  comparison.outcome = Outcome::kInfeasible;
  comparison.plugin = "P";
  for (int i = 0; i < 300; ++i) {
    comparison.reason = std::to_string(i);
    report->Add(comparison);
  }
  EXPECT_THAT(report->Json(), HasSubstr(R"({"plugin":"","reason":"others","count":200})"));
}

TEST_F(ShadowTest, MetricsAndReportTellTheSame) {
  for (const char* name : {"a", "b"}) Node(Roomy(name));
  Sync();
  Pod(Small("one"));
  Binds("one", "a");
  Pod(MakePod("two").Cpu("64"));
  Binds("two", "b");
  Conclude();
  const std::string text = metrics.Expose();
  EXPECT_THAT(text,
              HasSubstr("berth_shadow_comparisons_total{outcome=\"tie\",profile=\"default-scheduler\"} 1\n"));
  EXPECT_THAT(text,
              HasSubstr("berth_shadow_disagreements_total{plugin=\"NodeResourcesFit\",reason=\"Insufficient "
                        "cpu\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("berth_shadow_decision_seconds_count 2\n"));
  EXPECT_THAT(text, HasSubstr("berth_shadow_score_gap_bucket{le=\"0\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("berth_shadow_waiting 0\n"));
  EXPECT_THAT(report->Text(), HasSubstr("profile default-scheduler: 2 decisions compared\n"
                                        "  agreed               1   50.00 %  tie 1\n"));
  EXPECT_THAT(report->Text(), HasSubstr("infeasible default/two: theirs b, Berth's no node"));
  EXPECT_THAT(report->Json(), HasSubstr(R"("outcomes":{"tie":1,"infeasible":1})"));
}

TEST(ReasonsWithoutCounts, DifferInNothingButNumbers) {
  const std::string one = ReasonsWithoutCounts(
      "0/12 nodes are available: 10 Insufficient cpu, 2 node(s) were unschedulable. preemption: none.");
  EXPECT_EQ(one,
            ReasonsWithoutCounts("0/9 nodes are available: 4 node(s) were unschedulable, 5 Insufficient cpu. "
                                 "preemption: none."));
  EXPECT_NE(one, ReasonsWithoutCounts("0/9 nodes are available: 9 Insufficient cpu. preemption: none."));
}

}  // namespace
}  // namespace berth::shadow
