// The order of observations, and states that explain a decision.
#include "tools/shadow/fake_scheduler.hpp"

namespace berth::shadow {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

// On a node with a pod whose label `app` is "store".
api::PodAffinityTerm BesideStore() {
  api::PodAffinityTerm term;
  term.topology_key = "host";
  term.label_selector.emplace().match_labels = {{"app", "store"}};
  return term;
}

TEST_F(ShadowTest, AnEarlierDecisionMayBeObservedLater) {
  for (const char* name : {"a", "b"}) Node(Roomy(name));
  Pod(MakePod("on-b").Cpu("2").Memory("4Gi").OnNode("b"));
  Sync();
  Pod(MakePod("first").Cpu("6").Memory("12Gi"));
  Pod(MakePod("second").Cpu("1").Memory("1Gi"));
  Binds("second", "b");  // a is full with the first one, whose binding has not been observed yet
  EXPECT_EQ(Only(), "");
  Binds("first", "a");
  EXPECT_EQ(Only(), "same");  // the first one agrees immediately
  Complete();
  EXPECT_EQ(Only(), "same raced");
  ASSERT_THAT(report->Explained(), SizeIs(1));
  EXPECT_THAT(report->Explained().front().because, HasSubstr("after it had observed pod default/first on a"));
  EXPECT_THAT(report->Explained().front().at_first, StartsWith("worse (NodeResourcesFit"));
}

TEST_F(ShadowTest, AChangeThatTheOtherSchedulerHadNotObservedExplainsItsDecision) {
  Node(Roomy("a"));
  Node(Roomy("b"));
  Pod(MakePod("on-b").Cpu("4").Memory("8Gi").OnNode("b"));
  Sync();
  Pod(Small("web"));
  Node(Roomy("a").Cordoned());
  Binds("web", "a");
  Complete();
  EXPECT_EQ(Only(), "raced");
  ASSERT_THAT(report->Explained(), SizeIs(1));
  EXPECT_EQ(report->Explained().front().because, "decided before it observed node a changed");
  EXPECT_THAT(report->Explained().front().at_first, HasSubstr("node(s) were unschedulable"));
}

TEST_F(ShadowTest, AChangeThatTheOtherSchedulerObservedFirstExplainsItsDecision) {
  Node(Roomy("b"));
  Sync();
  Pod(Small("web"));
  Binds("web", "a");
  Node(Roomy("a"));
  Complete();
  EXPECT_EQ(Only(), "raced");
}

TEST_F(ShadowTest, AFailureIsExplainedByThePodsBeforeADeletion) {
  Node(MakeNode("a").Cpu("2").Memory("4Gi"));
  Pod(MakePod("old").Cpu("2").OnNode("a"));
  Sync();
  Pod(Small("web"));
  Gone("old");
  Fails("web",
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption "
        "victims "
        "found for incoming pod.");
  Complete();
  EXPECT_EQ(Only(), "raced");
}

// Only the two nodes in query are out of order; every state that moves other bindings too is wrong.
TEST_F(ShadowTest, TwoBindingsOutOfOrderExplainADecisionTogether) {
  for (const char* name : {"a", "b"}) Node(Roomy(name).Label("host", name));
  Node(MakeNode("large").Cpu("800").Memory("1600Gi"));
  Pod(MakePod("on-a").Cpu("1").OnNode("a"));
  Pod(MakePod("on-b").Cpu("500m").Label("app", "store").OnNode("b"));
  Sync();
  const auto bind = [&](const std::string& name, const char* cpu, const char* node) {
    Pod(MakePod(name).Scheduler("not-compared").Cpu(cpu));
    Binds(name, node);
  };
  Pod(MakePod("store").Scheduler("not-compared").Label("app", "store"));
  Binds("store", "a");  // without this pod `web` cannot be on a
  bind("decided-later", "2", "a");
  for (int i = 0; i < 20; ++i) bind("before" + std::to_string(i), "0", "large");
  PodBuilder web = MakePod("web").Cpu("1");
  web.raw().spec.pod_affinity.emplace().required = {BesideStore()};
  Pod(web);
  Binds("web", "a");
  for (int i = 0; i < 20; ++i) bind("after" + std::to_string(i), "0", "large");
  bind("decided-earlier", "2", "b");
  Complete();
  ASSERT_EQ(Only(), "raced");
  EXPECT_EQ(report->Explained().front().because,
            "decided before it observed pod default/decided-later on a, after it had observed pod "
            "default/decided-earlier on b");
}

// No moment explains this, and no single change out of its order.
TEST_F(ShadowTest, TwoChangesOutOfOrderExplainTheNumbersInAMessageTogether) {
  std::vector<std::string> names;
  for (int i = 0; i < 26; ++i) names.push_back("n" + std::to_string(10 + i));
  for (const std::string& name : names) Node(Roomy(name));
  Sync();
  Pod(MakePod("web").Cpu("64"));
  const auto cordon = [&](int begin, int end) {
    for (int i = begin; i < end; ++i) Node(Roomy(names[i]).Cordoned());
  };
  Node(Roomy("n10").Taint("old", "", "NoSchedule"));
  cordon(2, 24);
  Node(Roomy("n11").Taint("old", "", "NoSchedule"));
  cordon(24, 26);
  Fails("web",
        "0/26 nodes are available: 2 Insufficient cpu, 24 node(s) were unschedulable. preemption: 0/26 nodes "
        "are "
        "available: 26 Preemption is not helpful for scheduling.");
  Complete();
  ASSERT_EQ(Only(), "raced");
  EXPECT_EQ(report->Explained().front().because,
            "decided before it observed node n10 changed, node n11 changed");
}

TEST_F(ShadowTest, AReachedLimitOfTheSearchIsReported) {
  Begin({.search = Duration(-1)});
  Node(Roomy("a"));
  Node(Roomy("b").Cordoned());
  Sync();
  Pod(Small("web"));
  Binds("web", "b");
  Complete();
  ASSERT_THAT(report->Disagreements(), SizeIs(1));
  EXPECT_EQ(report->Disagreements().front().because, "the search for an explanation reached its limit");
}

TEST_F(ShadowTest, OldChangesAreNotUsedAsExplanation) {
  Begin({.window = std::chrono::seconds(5)});
  Node(Roomy("a"));
  Node(Roomy("b"));
  Sync();
  Pod(Small("web"));
  Node(Roomy("a").Cordoned());
  Wait(std::chrono::seconds(10));
  Binds("web", "a");
  Complete();
  EXPECT_EQ(Only(), "infeasible");
}

TEST_F(ShadowTest, TheCacheIsRestoredAfterOtherStatesWereTried) {
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
  Binds("web", "a");  // no state explains this
  Node(Roomy("b").Cordoned());
  Complete();
  EXPECT_EQ(report->Count(Outcome::kInfeasible), 1U);
  const cluster::NodeTable& table = engine->cache().nodes();
  const auto used = [&](const char* name) { return table.requested(cluster::kCpu)[table.Find(name)]; };
  EXPECT_EQ(used("a"), 66000);
  EXPECT_EQ(used("b"), 3000);
  EXPECT_EQ(used("c"), 0);
  EXPECT_EQ(engine->cache().pod_count(), 6U);
  const auto same = report->Count(Outcome::kSame);
  Pod(Small("next"));
  Binds("next", "c");
  EXPECT_EQ(report->Count(Outcome::kSame), same + 1);  // a is full, b is closed
}

TEST_F(ShadowTest, ChangesAfterAnInterruptedWatchAreNotCompared) {
  Node(Roomy("a"));
  Sync();
  Pod(Small("early"));
  Pod(Small("late"));
  version = 500;
  Binds("late", "a");
  version = 200;
  Binds("early", "a");  // delivered by a list, sorted by name
  EXPECT_EQ(report->Count(Outcome::kMissed), 1U);
}

TEST_F(ShadowTest, DecisionsAfterARestoredBackupAreCompared) {
  Node(Roomy("a"));
  Sync();
  version = 500;
  Pod(Small("lost"));
  Gone("lost");
  version = 200;  // the backup's
  Pod(Small("first"));
  Binds("first", "a");
  Pod(Small("second"));
  Binds("second", "a");
  EXPECT_EQ(Only(), "same x2");

  version = 500;
  Pod(Small("known"));
  version = 200;
  Fails("known", "0/1 nodes are available.");  // by a list, with a lower version than before
  Pod(Small("third"));
  Binds("third", "a");
  EXPECT_EQ(Only(), "same x3 missed");
}

}  // namespace
}  // namespace berth::shadow
