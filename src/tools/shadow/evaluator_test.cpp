// Comparisons in the current cluster state.
#include "tools/shadow/fake_scheduler.hpp"

namespace berth::shadow {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST_F(ShadowTest, ABindingIsComparedInTheStateBeforeIt) {
  struct Row {
    const char* what;
    const char* node;
    const char* outcome;
    const char* plugin;
    const char* reason;
  };
  const Row rows[] = {
      {"the emptiest node has the best score", "empty", "same", "", ""},
      {"a node with more usage has a lower score", "used", "worse", "NodeResourcesFit", "lower score"},
      {"a full node is rejected", "full", "infeasible", "NodeResourcesFit", "Insufficient cpu"},
      {"a cordoned node is rejected", "closed", "infeasible", "NodeUnschedulable",
       "node(s) were unschedulable"},
      {"an unknown node is rejected", "elsewhere", "infeasible", "", "the node is not in Berth's cache"},
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
    Complete();
    EXPECT_EQ(Only(), row.outcome);
    if (*row.reason == 0) continue;
    ASSERT_THAT(report->Disagreements(), SizeIs(1));
    const Comparison found = report->Disagreements().front();
    EXPECT_EQ(found.plugin, row.plugin);
    EXPECT_EQ(found.reason, row.reason);
    EXPECT_EQ(found.candidate.node, "empty");
    EXPECT_EQ(found.reference.node, row.node);
    EXPECT_EQ(found.pod, "default/web");
    EXPECT_THAT(ToText(found), HasSubstr(row.reason));
  }
}

TEST_F(ShadowTest, EachNodeWithTheBestScoreIsATie) {
  for (const char* name : {"a", "b", "c"}) Node(Roomy(name));
  Sync();
  Pod(Small("web"));
  Binds("web", "c");
  EXPECT_EQ(Only(), "tie");
}

TEST_F(ShadowTest, TheScorePartsOfBothNodesAreReported) {
  for (const char* name : {"a", "b"}) Node(Roomy(name));
  Pod(MakePod("other").Cpu("4").Memory("8Gi").OnNode("b"));
  Sync();
  Pod(Small("web"));
  Binds("web", "b");
  Complete();
  ASSERT_THAT(report->Disagreements(), SizeIs(1));
  const Comparison found = report->Disagreements().front();
  EXPECT_LT(found.reference_total, found.candidate_total);
  std::int64_t gap = 0;
  for (const ScorePart& part : found.parts) gap += part.weight * (part.candidate - part.reference);
  EXPECT_EQ(gap, found.candidate_total - found.reference_total);
  EXPECT_EQ(found.better, 1U);
  EXPECT_THAT(ToJson(found), HasSubstr(R"("scores":[{"plugin":"NodeResources)"));
}

TEST_F(ShadowTest, OnlyPendingPodsOfItsProfilesAreCompared) {
  Node(Roomy("a"));
  Pod(Small("before"));
  Binds("before", "a");  // part of the initial lists: its time is unknown
  Sync();
  Pod(Small("foreign").Scheduler("other-scheduler"));
  Binds("foreign", "a");
  Pod(Small("static").OnNode("a"));
  Complete();
  EXPECT_EQ(Only(), "");
}

// --- sampling ---

TEST_F(ShadowTest, ALowerScoreIsExplainedIfTheSampleMayContainNoBetterNode) {
  struct Row {
    const char* what;
    std::int64_t percentage;
    int used;  // used nodes in visiting order, of 300; the pod is bound to the first of them
    const char* outcome;
  };
  const Row rows[] = {
      {"141 of 300 are scored, and that many may contain no better node", 0, 200, "sampled"},
      {"more nodes are better than the sample leaves out", 0, 100, "worse"},
      {"all are scored", 100, 200, "worse"},
      {"a tenth is scored, but at least a hundred", 10, 101, "sampled"},
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
    Complete();
    EXPECT_EQ(Only(), row.outcome);
    if (report->Explained().empty()) continue;
    const std::string because = report->Explained().front().because;
    EXPECT_THAT(because, HasSubstr("of the 300 nodes that fit"));
    EXPECT_THAT(because, HasSubstr("and this node is the best of the"));
  }
}

// --- failures ---

constexpr const char* kTooSmall =
    "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 Preemption is not "
    "helpful for scheduling.";

TEST_F(ShadowTest, FailureMessagesAreComparedVerbatim) {
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
    Complete();
    EXPECT_EQ(Only(), row.outcome);
  }
}

TEST_F(ShadowTest, PreemptionAgreesOnAnyEquallyGoodNodeAndEvictsNoPod) {
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
  Complete();
  EXPECT_EQ(Only(), "unschedulable nomination");
  ASSERT_THAT(report->Disagreements(), SizeIs(1));
  EXPECT_EQ(report->Disagreements().front().candidate.nominated, "a");
  EXPECT_THAT(report->Disagreements().front().victims, ::testing::ElementsAre("default/on-a"));
}

TEST_F(ShadowTest, MembersOfGroupsAreNotComparedButCountAsPlaced) {
  Node(Roomy("a"));
  Sync();
  Pod(MakePod("member").Cpu("64").Group("g"));
  Fails("member", "pod group is unschedulable, minCount (3) cannot be satisfied: 2 scheduled, 0 remaining",
        "");
  EXPECT_EQ(Only(), "group");
  EXPECT_THAT(report->Disagreements(), ::testing::IsEmpty());
}

TEST_F(ShadowTest, ErrorsAndRemovedNominationsAreNotDecisions) {
  Node(Roomy("a"));
  Sync();
  Pod(MakePod("web").Cpu("64"));
  Fails("web", "running PreFilter plugin: no", "", "SchedulerError");
  EXPECT_EQ(Only(), "reference_error");
  Pod(MakePod("other").Cpu("64"));
  Fails(
      "other",
      "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Preemption is not "
      "helpful for scheduling.",
      "a");
  Complete();
  const std::string before = Only();
  api::Pod cleared = *pods["other"];
  cleared.status.nominated_node_name = "";
  Pod(cleared);
  Complete();
  EXPECT_EQ(Only(), before);
}

TEST(DifferenceOfCounts, IsTheNumberOfNodesWithOtherReasons) {
  const std::string some =
      "0/9 nodes are available: 4 node(s) were unschedulable, 5 Insufficient cpu. preemption: 0/9 nodes are "
      "available: 4 Preemption is not helpful for scheduling, 5 Insufficient cpu.";
  struct Case {
    std::string_view other;
    std::int64_t difference;
  };
  for (const Case& one : {
           Case{some, 0},
           // One node is cordoned, which appears in both parts of the message.
           Case{"0/9 nodes are available: 5 node(s) were unschedulable, 4 Insufficient cpu. preemption: 0/9 "
                "nodes "
                "are available: 5 Preemption is not helpful for scheduling, 4 Insufficient cpu.",
                4},
           // The numbers of one reason differ in both parts, in opposite directions.
           Case{"0/9 nodes are available: 3 node(s) were unschedulable, 6 Insufficient cpu. preemption: 0/9 "
                "nodes "
                "are available: 5 Preemption is not helpful for scheduling, 4 Insufficient cpu.",
                4},
           Case{"0/9 nodes are available: 4 node(s) were unschedulable, 5 Insufficient memory. preemption: "
                "0/9 "
                "nodes are available: 4 Preemption is not helpful for scheduling, 5 Insufficient cpu.",
                10},
           Case{"", 18},
       })
    EXPECT_EQ(DifferenceOfCounts(some, one.other), one.difference) << one.other;
}

TEST(ReasonsWithoutCounts, IgnoreNumbers) {
  const std::string one = ReasonsWithoutCounts(
      "0/12 nodes are available: 10 Insufficient cpu, 2 node(s) were unschedulable. preemption: none.");
  EXPECT_EQ(one,
            ReasonsWithoutCounts("0/9 nodes are available: 4 node(s) were unschedulable, 5 Insufficient cpu. "
                                 "preemption: none."));
  EXPECT_NE(one, ReasonsWithoutCounts("0/9 nodes are available: 9 Insufficient cpu. preemption: none."));
}

}  // namespace
}  // namespace berth::shadow
