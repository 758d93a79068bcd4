#include "scheduler/record/attempt_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "scheduler/record/record_ring.hpp"

namespace berth::record {
namespace {

RowSet Rows(std::initializer_list<std::size_t> rows) {
  RowSet set;
  for (const std::size_t row : rows) set.Add(row);
  return set;
}
RowSet First(std::size_t count) {
  RowSet set;
  for (std::size_t row = 0; row < count; ++row) set.Add(row);
  return set;
}

class RecordTest : public ::testing::Test {
 protected:
  // Rows 0..4 are n3, n1, n2, (none), n4.
  RecordTest() {
    record.pod = "default/web";
    record.scheduler_name = "default-scheduler";
    record.nodes = std::make_shared<NodeNames>(NodeNames{{"n3", "n1", "n2", "", "n4"}});
    record.all = Rows({0, 1, 2, 4});
  }
  void Reject(std::string_view plugin, std::string_view reason, RowSet rows) {
    record.rejections.push_back({plugin, reasons.Intern(reason), std::move(rows)});
  }
  std::string Message() const { return FitErrorMessage(record, reasons); }
  std::string Json() const { return ToJson(record, reasons); }

  framework::Reasons reasons;
  AttemptRecord record;
};

// --- message ---

TEST_F(RecordTest, TheMessageCountsNodesPerReason) {
  Reject("Fit", "Insufficient cpu", Rows({0, 1}));
  Reject("Fit", "Insufficient memory", Rows({1}));
  Reject("Taints", "tainted", Rows({2, 4}));
  EXPECT_EQ(Message(), "0/4 nodes are available: 1 Insufficient memory, 2 Insufficient cpu, 2 tainted.");
}

TEST_F(RecordTest, TheMessageIsSortedAsTextNotByNumber) {
  record.all = First(12);
  Reject("A", "x", First(10));
  Reject("B", "y", Rows({10, 11}));
  EXPECT_EQ(Message(), "0/12 nodes are available: 10 x, 2 y.");
}

TEST_F(RecordTest, NodesThatAnExtenderRemovedSilentlyCountAsExcludedIfTheNodesAreLimited) {
  Reject("Fit", "Insufficient cpu", Rows({0}));
  record.extenders.silent.push_back({"http://x", Rows({1})});
  EXPECT_EQ(Message(), "0/4 nodes are available: 1 Insufficient cpu.");
  record.excluded = Rows({2, 4});
  record.exclusion_reason = "node(s) didn't satisfy plugin(s) [NodeAffinity]";
  EXPECT_EQ(
      Message(),
      "0/4 nodes are available: 1 Insufficient cpu, 3 node(s) didn't satisfy plugin(s) [NodeAffinity].");
}

TEST_F(RecordTest, EqualReasonsOfSeveralPluginsAreMerged) {
  Reject("A", "no", Rows({0}));
  Reject("B", "no", Rows({1, 2}));
  EXPECT_EQ(Message(), "0/4 nodes are available: 3 no.");
}

TEST_F(RecordTest, NodesExcludedByPreFilterHaveAReason) {
  record.excluded = Rows({0, 1, 2});
  record.exclusion_reason = "node(s) didn't satisfy plugin(s) [NodeAffinity]";
  Reject("Taints", "tainted", Rows({4}));
  EXPECT_EQ(Message(),
            "0/4 nodes are available: 1 tainted, 3 node(s) didn't satisfy plugin(s) [NodeAffinity].");
}

TEST_F(RecordTest, AMessageOfPreFilterHasNoNodeCounts) {
  record.pre_filter = PreFilterRejection{framework::Code::kUnschedulable, "P", {"a", "b"}};
  Reject("Taints", "tainted", Rows({4}));
  EXPECT_EQ(Message(), "0/4 nodes are available: a, b.");
}

TEST_F(RecordTest, WithoutReasonsTheMessageEndsWithItsColon) {
  EXPECT_EQ(Message(), "0/4 nodes are available:");
}

// --- JSON ---

TEST_F(RecordTest, AScheduledPodShowsScoresTimesWeight) {
  record.result = Result::kScheduled;
  record.message = "not shown";
  record.feasible = Rows({0, 1});
  Reject("Fit", "Insufficient cpu", Rows({2, 4}));
  Reject("Fit", "Insufficient memory", Rows({2}));
  record.unresolvable = Rows({4});
  record.scored = true;
  record.scores = {{"Affinity", 2, 0, {50, 100, 0, 0, 0}}, {"Taints", 3, 100, {}}};
  record.best = Rows({1});
  record.node = 1;
  EXPECT_EQ(
      Json(),
      R"({"pod":"default/web","schedulerName":"default-scheduler","result":"scheduled","node":"n1","bestNodes":["n1"],"nodes":[)"
      R"({"name":"n1","code":"Success","scores":{"Affinity":200,"Taints":300},"total":500},)"
      R"({"name":"n2","code":"Unschedulable","plugin":"Fit","reasons":["Insufficient cpu","Insufficient memory"]},)"
      R"({"name":"n3","code":"Success","scores":{"Affinity":100,"Taints":300},"total":400},)"
      R"({"name":"n4","code":"UnschedulableAndUnresolvable","plugin":"Fit","reasons":["Insufficient cpu"]}]})");
}

TEST_F(RecordTest, AFeasibleNodeOutsideTheSampleHasNoError) {
  record.result = Result::kScheduled;
  record.feasible = record.best = Rows({0, 1, 2});
  record.node = 1;
  EXPECT_NE(Json().find(R"({"name":"n4","code":"Error"})"), std::string::npos) << Json();
  record.sampled = true;
  EXPECT_NE(Json().find(R"({"name":"n4","code":"Success"})"), std::string::npos) << Json();
}

TEST_F(RecordTest, ScorePartsFollowTheTotal) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  record.result = Result::kScheduled;
  record.all = record.feasible = record.best = Rows({1, 2});
  record.node = 1;
  record.scored = true;
  record.scores = {{.plugin = "Load",
                    .weight = 5,
                    .values = {0, 58, 60, 0, 0},
                    .parts = {{.name = "cpu",
                               .weight = 2,
                               .load = {0, 41.26, kUnknown},
                               .estimated = {0, 2.52, 0},
                               .score = {0, 58.74, 60}}}},
                   {.plugin = "Plain", .weight = 1, .uniform = 7, .values = {}}};
  EXPECT_EQ(Json(),
            R"({"pod":"default/web","schedulerName":"default-scheduler","result":"scheduled","node":"n1",)"
            R"("bestNodes":["n1","n2"],"nodes":[)"
            R"({"name":"n1","code":"Success","scores":{"Load":290,"Plain":7},"total":297,)"
            R"("parts":{"Load":{"cpu":{"load":41.3,"estimated":2.5,"score":58.7,"weight":2}}}},)"
            R"({"name":"n2","code":"Success","scores":{"Load":300,"Plain":7},"total":307,)"
            R"("parts":{"Load":{"cpu":{"load":null,"estimated":0.0,"score":60.0,"weight":2}}}}]})");
}

TEST_F(RecordTest, ANoteOnAScorePartIsWrittenForEachNode) {
  record.result = Result::kScheduled;
  record.all = record.feasible = record.best = Rows({1});
  record.node = 1;
  record.scored = true;
  record.scores = {{.plugin = "Load",
                    .weight = 1,
                    .values = {0, 58, 0, 0, 0},
                    .parts = {{.name = "cpu",
                               .weight = 1,
                               .load = {0, 42},
                               .estimated = {0, 2},
                               .score = {0, 58},
                               .note = "the pod counts with 420m"}}}};
  EXPECT_NE(Json().find(R"({"cpu":{"load":42.0,"estimated":2.0,"score":58.0,"weight":1,"note":"the pod )"
                        R"(counts with 420m"}})"),
            std::string::npos)
      << Json();
}

TEST_F(RecordTest, WithoutScoresThereAreNoTotalsAndBestNodesAreSortedByName) {
  record.result = Result::kScheduled;
  record.all = record.feasible = record.best = Rows({0, 1});
  record.node = 0;
  EXPECT_EQ(
      Json(),
      R"({"pod":"default/web","schedulerName":"default-scheduler","result":"scheduled","node":"n3","bestNodes":["n1","n3"],)"
      R"("nodes":[{"name":"n1","code":"Success"},{"name":"n3","code":"Success"}]})");
}

TEST_F(RecordTest, WithoutScorePluginsEveryTotalIsOne) {
  record.result = Result::kScheduled;
  record.all = record.feasible = record.best = Rows({0, 1});
  record.scored = true;
  record.base_total = 1;
  EXPECT_NE(Json().find(R"({"name":"n1","code":"Success","scores":{},"total":1})"), std::string::npos)
      << Json();
}

TEST_F(RecordTest, AnUnschedulablePodShowsItsMessage) {
  record.result = Result::kUnschedulable;
  record.message = "0/4 \"nodes\"";
  record.all = Rows({0, 1});
  record.excluded = Rows({0});
  record.excluding_plugins = "NodeAffinity,NodeName";
  record.exclusion_reason = "left out";
  Reject("Taints", "tainted", Rows({1}));
  EXPECT_EQ(
      Json(),
      R"({"pod":"default/web","schedulerName":"default-scheduler","result":"unschedulable","message":"0/4 \"nodes\"","nodes":[)"
      R"({"name":"n1","code":"Unschedulable","plugin":"Taints","reasons":["tainted"]},)"
      R"({"name":"n3","code":"UnschedulableAndUnresolvable","plugin":"NodeAffinity,NodeName","reasons":["left out"]}]})");
}

TEST_F(RecordTest, ARejectionByPreFilterAppliesToEveryNode) {
  record.result = Result::kUnschedulable;
  record.message = "m";
  record.all = Rows({1});
  record.pre_filter = PreFilterRejection{framework::Code::kUnschedulableAndUnresolvable, "P", {"a"}};
  EXPECT_EQ(
      Json(),
      R"({"pod":"default/web","schedulerName":"default-scheduler","result":"unschedulable","message":"m",)"
      R"("preFilter":{"code":"UnschedulableAndUnresolvable","plugin":"P","reasons":["a"]},"nodes":[)"
      R"({"name":"n1","code":"UnschedulableAndUnresolvable","plugin":"P","reasons":["a"]}]})");
}

TEST_F(RecordTest, ErrorGatedAndIgnoredPodsHaveAMessageAndNoNodes) {
  const std::string start = R"({"pod":"default/web","schedulerName":"default-scheduler","result":)";
  record.message = "m";
  record.result = Result::kError;
  EXPECT_EQ(Json(), start + R"("error","message":"m"})");
  record.result = Result::kGated;
  EXPECT_EQ(Json(), start + R"("gated","message":"m"})");
  record.result = Result::kIgnored;
  EXPECT_EQ(Json(), start + R"("ignored"})");
}

TEST_F(RecordTest, WithoutNodesTheListIsEmpty) {
  record.result = Result::kUnschedulable;
  record.message = "no nodes available to schedule pods";
  record.all = {};
  EXPECT_EQ(Json(), R"({"pod":"default/web","schedulerName":"default-scheduler","result":"unschedulable",)"
                    R"("message":"no nodes available to schedule pods","nodes":[]})");
}

// --- ring ---

std::shared_ptr<const AttemptRecord> Named(const std::string& pod, std::size_t padding = 0) {
  auto record = std::make_shared<AttemptRecord>();
  record->pod = pod;
  record->message = std::string(padding, 'x');
  return record;
}

TEST(RecordRing, TheOldestRecordsAreDroppedAtTheLimit) {
  const std::size_t size = Named("a", 1000)->Bytes();
  RecordRing ring(3 * size);
  for (const auto* pod : {"a", "b", "c", "d"}) ring.Add(Named(pod, 1000), {});
  EXPECT_EQ(ring.size(), 3U);
  EXPECT_EQ(ring.evicted(), 1U);
  EXPECT_LE(ring.bytes(), 3 * size);
  EXPECT_EQ(ring.Latest("a"), nullptr);
  EXPECT_NE(ring.Latest("b"), nullptr);
  EXPECT_NE(ring.Latest("d"), nullptr);
}

TEST(RecordRing, ALargeRecordReplacesOthers) {
  RecordRing ring(10 * Named("a", 1000)->Bytes());
  for (int i = 0; i < 10; ++i) ring.Add(Named("small" + std::to_string(i)), {});
  ring.Add(Named("large", 1'000'000), {});
  EXPECT_EQ(ring.size(), 1U) << "one record always fits";
  EXPECT_NE(ring.Latest("large"), nullptr);
  ring.Add(Named("next"), {});
  EXPECT_EQ(ring.Latest("large"), nullptr);
  EXPECT_EQ(ring.bytes(), Named("next")->Bytes());
}

TEST(RecordRing, LatestReturnsTheNewestRecordOfThePod) {
  RecordRing ring(1'000'000);
  ring.Add(Named("a", 1), {});
  ring.Add(Named("a", 2), {});
  ring.Add(Named("b", 3), {});
  EXPECT_EQ(ring.Latest("a")->message.size(), 2U);
}

TEST(RecordRing, ASearchInStepsFindsAllRecordsOfThePodWithTheirTimes) {
  RecordRing ring(4 * Named("a", 1000)->Bytes());
  for (int i = 0; i < 6; ++i)
    ring.Add(Named(i % 2 == 0 ? "a" : "b", 1000), WallTime(std::chrono::seconds(i)));
  std::vector<int> found;
  std::uint64_t before = ring.end();
  int steps = 0;
  for (; before > ring.first(); ++steps) {
    before = ring.Search("a", before, 1, [&](const auto&, WallTime at) {
      found.push_back(static_cast<int>(at.time_since_epoch() / std::chrono::seconds(1)));
    });
  }
  EXPECT_THAT(found, ::testing::ElementsAre(4, 2)) << "the first two records were dropped";
  EXPECT_EQ(steps, 4);
}

TEST(RecordRing, ASearchContinuesBehindRecordsThatWereDroppedMeanwhile) {
  RecordRing ring(2 * Named("a", 1000)->Bytes());
  ring.Add(Named("a", 1000), {});
  ring.Add(Named("a", 1000), {});
  int found = 0;
  const auto count = [&](const auto&, WallTime) { ++found; };
  const std::uint64_t before = ring.Search("a", ring.end(), 1, count);
  for (int i = 0; i < 5; ++i) ring.Add(Named("b", 1000), {});
  EXPECT_LE(ring.Search("a", before, 10, count), ring.first());
  EXPECT_EQ(found, 1);
}

TEST(RecordRing, TheSizeIncludesAllPartsOfARecord) {
  AttemptRecord record;
  const std::size_t empty = record.Bytes();
  record.all = First(6400);
  std::vector<std::uint8_t> scores(1000);
  scores[0] = 100;
  scores[1] = 1;
  record.scores = {{"A", 1, 0, scores}};
  record.extenders.unknown_node_reasons.push_back(std::string(500, 'x'));
  EXPECT_GE(record.Bytes(), empty + 800 + 1000 + 500);
}

TEST_F(RecordTest, TotalsOfExtendersWrapAndTheLowestOneIsRankedLast) {
  record.scored = true;
  record.feasible = Rows({0, 1, 2});
  record.extenders.scores.push_back({"http://x", {INT64_MIN, INT64_MAX, 0, 0, 0}});
  EXPECT_THAT(record.Ranked(3), ::testing::ElementsAre(1U, 2U, 0U));
  record.extenders.scores.push_back({"http://y", {0, 1, 0, 0, 0}});
  EXPECT_EQ(record.Total(1), INT64_MIN);
}

TEST_F(RecordTest, ANominationComesAfterTheNodes) {
  record.result = Result::kUnschedulable;
  record.message = "m";
  record.all = Rows({0, 2});
  Reject("Fit", "full", Rows({0, 2}));
  record.nomination = Nomination{"n2", {"a/x", "b/y"}, Rows({0, 2})};
  EXPECT_EQ(
      Json(),
      R"({"pod":"default/web","schedulerName":"default-scheduler","result":"unschedulable","message":"m",)"
      R"("nodes":[{"name":"n2","code":"Unschedulable","plugin":"Fit","reasons":["full"]},)"
      R"({"name":"n3","code":"Unschedulable","plugin":"Fit","reasons":["full"]}],)"
      R"("nomination":{"node":"n2","victims":["a/x","b/y"],"choices":["n2","n3"]}})");
}

// --- groups ---

TEST_F(RecordTest, TheGroupOfAMemberIsTheLastPart) {
  record.result = Result::kError;
  record.message = "m";
  GroupRecord group{.group = "default/g",
                    .result = Result::kUnschedulable,
                    .message = "minCount (3) cannot be satisfied",
                    .min_count = 3,
                    .scheduled = 1,
                    .pending = 4,
                    .placed = 1,
                    .failed = 2,
                    .not_tried = 1,
                    .failures = {{"default/a", "0/1 nodes are available"}, {"default/b", "x"}},
                    .placement = {},
                    .waits_for_evictions = false,
                    .victims = {}};
  const std::string pod =
      R"({"pod":"default/web","schedulerName":"default-scheduler","result":"error","message":"m",)";
  record.group = std::make_shared<const GroupRecord>(group);
  EXPECT_EQ(
      Json(),
      pod +
          R"("group":{"name":"default/g","result":"unschedulable","message":"minCount (3) cannot be satisfied",)"
          R"("minCount":3,"scheduled":1,"pending":4,"placed":1,"failed":2,"notTried":1,)"
          R"("failures":[{"pod":"default/a","message":"0/1 nodes are available"},{"pod":"default/b","message":"x"}]}})");
  group.failures.clear();
  group.result = Result::kScheduled;
  group.placement = {.name = "rack-a", .evaluated = 3, .feasible = 2};
  group.waits_for_evictions = true;
  group.victims = {"default/v"};
  record.group = std::make_shared<const GroupRecord>(group);
  EXPECT_EQ(Json(),
            pod + R"("group":{"name":"default/g","result":"scheduled",)"
                  R"("minCount":3,"scheduled":1,"pending":4,"placed":1,"failed":2,"notTried":1,)"
                  R"("placement":{"name":"rack-a","evaluated":3,"feasible":2},"victims":["default/v"]}})");
}

TEST(RecordRing, EachRecordOfAMemberCountsItsShareOfTheGroup) {
  AttemptRecord alone;
  AttemptRecord member;
  member.group = std::make_shared<const GroupRecord>(
      GroupRecord{.group = "default/g", .message = std::string(10'000, 'x'), .pending = 10});
  EXPECT_GE(member.Bytes(), alone.Bytes() + 1000);
  EXPECT_LT(member.Bytes(), alone.Bytes() + 2000);
}

}  // namespace
}  // namespace berth::record
