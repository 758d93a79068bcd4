// The report of comparisons and its bounds.
#include "tools/shadow/fake_scheduler.hpp"

namespace berth::shadow {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST_F(ShadowTest, KeepsALimitedNumberOfDisagreements) {
  Begin({}, 4);
  Node(Roomy("a"));
  Sync();
  for (int i = 0; i < 10; ++i) {
    const std::string name = "p" + std::to_string(i);
    Pod(MakePod(name).Cpu("64"));
    Binds(name, "a");
    Complete();
    Gone(name);
  }
  EXPECT_EQ(report->Count(Verdict::kDisagreed), 10U);
  ASSERT_THAT(report->Disagreements(), SizeIs(4));
  EXPECT_EQ(report->Disagreements().back().pod, "default/p9");
}

TEST_F(ShadowTest, ALimitedNumberOfComparisonsIsPending) {
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

TEST_F(ShadowTest, CausesBeyondTheLimitAreCountedTogether) {
  Comparison comparison;
  comparison.profile = "default-scheduler";
  comparison.reference.node = "a";
  comparison.outcome = Outcome::kInfeasible;
  comparison.plugin = "P";
  for (int i = 0; i < 300; ++i) {
    comparison.reason = std::to_string(i);
    report->Add(comparison);
  }
  EXPECT_THAT(report->Json(), HasSubstr(R"({"plugin":"","reason":"others","count":200})"));
}

TEST_F(ShadowTest, MetricsAndReportAgree) {
  for (const char* name : {"a", "b"}) Node(Roomy(name));
  Sync();
  Pod(Small("one"));
  Binds("one", "a");
  Pod(MakePod("two").Cpu("64"));
  Binds("two", "b");
  Complete();
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
  EXPECT_THAT(report->Text(), HasSubstr("infeasible default/two: other scheduler b, Berth no node"));
  EXPECT_THAT(report->Json(), HasSubstr(R"("outcomes":{"tie":1,"infeasible":1})"));
}

}  // namespace
}  // namespace berth::shadow
