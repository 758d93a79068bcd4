#include "scheduler/plugins/preemption_toleration/preemption_toleration.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>

#include "testing/cluster.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::MakePod;
using berth::testing::PodBuilder;
using std::chrono::seconds;

api::PriorityClass MakePriorityClass(const std::optional<std::string>& minimum,
                                     const std::optional<std::string>& toleration) {
  api::PriorityClass object;
  object.metadata.name = "c";
  object.value = 5;
  object.metadata.annotations.emplace();
  if (minimum)
    object.metadata.annotations->Set(std::string(api::PriorityClass::kMinimumPreemptablePriority), *minimum);
  if (toleration)
    object.metadata.annotations->Set(std::string(api::PriorityClass::kTolerationSeconds), *toleration);
  return object;
}

// --- arguments ---

TEST(PreemptionTolerationArguments, AreThoseOfDefaultPreemption) {
  Cluster cluster;
  EXPECT_TRUE(cluster.TryMake<PreemptionToleration>("{minCandidateNodesPercentage: 0}"));
  const auto made = cluster.TryMake<PreemptionToleration>("{minCandidateNodesPercentage: 101}");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message,
            "profiles[0].pluginConfig[0].args.minCandidateNodesPercentage: Invalid value: 101: not in valid "
            "range [0, 100]");
}

// --- annotations ---

struct TolerationAnnotationCase {
  std::string name;
  std::optional<std::string> minimum, seconds;
  std::int64_t expected_minimum = 0, expected_seconds = 0;
  std::string error = {};
};
class TolerationAnnotations : public ::testing::TestWithParam<TolerationAnnotationCase> {};
TEST_P(TolerationAnnotations, AreReadAsByGo) {
  const TolerationAnnotationCase& row = GetParam();
  const auto read = ReadToleration(MakePriorityClass(row.minimum, row.seconds));
  ASSERT_EQ(read ? "" : read.error().message, row.error);
  if (!read) return;
  EXPECT_EQ(read->minimum, row.expected_minimum);
  EXPECT_EQ(read->seconds, row.expected_seconds);
}
constexpr const char* kMinimumError =
    "preemption-toleration.scheduling.x-k8s.io/minimum-preemptable-priority: strconv.ParseInt: parsing ";
INSTANTIATE_TEST_SUITE_P(
    Table, TolerationAnnotations,
    ::testing::Values(TolerationAnnotationCase{"Absent", std::nullopt, std::nullopt, 6, 0},
                      TolerationAnnotationCase{"Both", "100", "10", 100, 10},  //
                      TolerationAnnotationCase{"Negative", "-7", "-1", -7, -1},
                      TolerationAnnotationCase{"WithAPlusSign", "+7", "+1", 7, 1},
                      TolerationAnnotationCase{"AWord", "a", std::nullopt, 0, 0,
                                               std::string(kMinimumError) + "\"a\": invalid syntax"},
                      TolerationAnnotationCase{"Empty", "", std::nullopt, 0, 0,
                                               std::string(kMinimumError) + "\"\": invalid syntax"},
                      TolerationAnnotationCase{"TwoSigns", "+-7", std::nullopt, 0, 0,
                                               std::string(kMinimumError) + "\"+-7\": invalid syntax"},
                      TolerationAnnotationCase{"WithAUnit", "7s", std::nullopt, 0, 0,
                                               std::string(kMinimumError) + "\"7s\": invalid syntax"},
                      TolerationAnnotationCase{
                          "Of33Bits", "2147483648", std::nullopt, 0, 0,
                          std::string(kMinimumError) + "\"2147483648\": value out of range"},
                      TolerationAnnotationCase{
                          "SecondsThatAreNoNumber", "7", "1h", 0, 0,
                          "preemption-toleration.scheduling.x-k8s.io/toleration-seconds: strconv.ParseInt: "
                          "parsing \"1h\": invalid syntax"}),
    [](const auto& row) { return row.param.name; });

// --- protection ---

class PreemptionTolerationTest : public ::testing::Test {
 protected:
  std::int64_t Ago(Duration ago) {
    return std::chrono::duration_cast<seconds>((cluster.loop().WallNow() - ago).time_since_epoch()).count();
  }
  // A pod of the class that was bound then; nullopt: the API server has not reported its binding.
  PodBuilder Victim(std::optional<Duration> bound, const std::string& priority_class = "c") {
    PodBuilder pod = MakePod("victim").OnNode("n");
    pod.raw().spec.priority_class_name = priority_class;
    if (!bound) return pod;
    pod.raw().status.conditions.push_back(
        {.type = "PodScheduled", .status = "True", .reason = "", .message = "", .last_transition_time = ""});
    pod.raw().status.scheduled_time = Ago(*bound);
    return pod;
  }
  framework::Status MayEvict(const api::Pod& victim, std::int32_t priority) {
    const api::PodPtr high = MakePod("high").Priority(priority).Share();
    return plugin->MayEvict({"default/high", priority, high}, victim);
  }
  bool Tolerates(const api::Pod& victim, std::int32_t priority) {
    return MayEvict(victim, priority).rejected();
  }

  Cluster cluster;
  std::unique_ptr<PreemptionToleration> plugin = cluster.Make<PreemptionToleration>();
};

TEST_F(PreemptionTolerationTest, PodsTolerateLowerPrioritiesForATime) {
  cluster.Put(MakePriorityClass("100", "60"));
  EXPECT_TRUE(Tolerates(Victim(seconds(59)), 99));
  EXPECT_FALSE(Tolerates(Victim(seconds(59)), 100)) << "the minimum may preempt";
  EXPECT_FALSE(Tolerates(Victim(seconds(60)), 99)) << "the time has passed";
  EXPECT_TRUE(Tolerates(Victim(std::nullopt), 99)) << "the time has not begun";
}

TEST_F(PreemptionTolerationTest, ANegativeTimeNeverEnds) {
  cluster.Put(MakePriorityClass("100", "-1"));
  EXPECT_TRUE(Tolerates(Victim(std::chrono::hours(1000)), 99));
}

TEST_F(PreemptionTolerationTest, AHugeTimeNeverEnds) {
  cluster.Put(MakePriorityClass("100", "9223372036854775807"));
  EXPECT_TRUE(Tolerates(Victim(std::chrono::hours(1000)), 99));
}

TEST_F(PreemptionTolerationTest, WithoutATimeNothingIsTolerated) {
  cluster.Put(MakePriorityClass("100", std::nullopt));
  EXPECT_FALSE(Tolerates(Victim(seconds(0)), 99));
}

TEST_F(PreemptionTolerationTest, WithoutAMinimumOnlyTheOwnPriorityIsTolerated) {
  cluster.Put(MakePriorityClass(std::nullopt, "60"));
  EXPECT_FALSE(Tolerates(Victim(seconds(1)), 6));
  EXPECT_TRUE(Tolerates(Victim(seconds(1)), 5));
}

TEST_F(PreemptionTolerationTest, InvalidAnnotationsTolerateNothing) {
  cluster.Put(MakePriorityClass("100", "never"));
  EXPECT_FALSE(Tolerates(Victim(seconds(1)), 99));
}

TEST_F(PreemptionTolerationTest, PodsWithoutAClassTolerateNothing) {
  EXPECT_TRUE(MayEvict(Victim(seconds(1), ""), 99).ok());
}

TEST_F(PreemptionTolerationTest, AnUnknownClassIsAnError) {
  const framework::Status status = MayEvict(Victim(seconds(1), "other"), 99);
  EXPECT_EQ(status.code, framework::Code::kError);
  EXPECT_EQ(status.Message(), "priorityclass.scheduling.k8s.io \"other\" not found");
}

TEST_F(PreemptionTolerationTest, TheLastVersionOfAClassCounts) {
  cluster.Put(MakePriorityClass("100", "-1"));
  cluster.Put(MakePriorityClass("50", "-1"));
  EXPECT_FALSE(Tolerates(Victim(seconds(1)), 99));
}

}  // namespace
}  // namespace berth::plugins
