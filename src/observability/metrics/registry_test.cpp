#include "observability/metrics/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <thread>

namespace berth::metrics {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Registry, ShowsFamiliesByNameAndCellsByLabels) {
  Registry registry;
  registry.Counter("b_total", "[STABLE] Second", {{"result", "unschedulable"}}).Add(2);
  registry.Counter("b_total", "[STABLE] Second", {{"result", "scheduled"}}).Add();
  registry.Gauge("a_pods", "[ALPHA] First").Set(-7);
  EXPECT_THAT(registry.Expose(), StartsWith("# HELP a_pods [ALPHA] First\n"
                                            "# TYPE a_pods gauge\n"
                                            "a_pods -7\n"
                                            "# HELP b_total [STABLE] Second\n"
                                            "# TYPE b_total counter\n"
                                            "b_total{result=\"scheduled\"} 1\n"
                                            "b_total{result=\"unschedulable\"} 2\n"));
}

TEST(Registry, TheSameNameAndLabelsAreTheSameCell) {
  Registry registry;
  Counter& first = registry.Counter("x_total", "help", {{"a", "1"}});
  for (int i = 0; i < 1000; ++i) registry.Counter("x_total", "help", {{"a", std::to_string(i)}});
  EXPECT_EQ(&first, &registry.Counter("x_total", "help", {{"a", "1"}}));
}

TEST(Registry, HistogramBucketsAreCumulatedAndIncludeTheirBound) {
  Registry registry;
  const auto bounds = ExponentialBuckets(0.001, 2, 3);
  Histogram& histogram = registry.Histogram("h_seconds", "help", bounds, {{"profile", "p"}});
  for (const double value : {0.0005, 0.001, 0.0011, 0.004, 9.0}) histogram.Observe(value);
  const std::string text = registry.Expose();
  EXPECT_THAT(text, HasSubstr("h_seconds_bucket{profile=\"p\",le=\"0.001\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("h_seconds_bucket{profile=\"p\",le=\"0.002\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("h_seconds_bucket{profile=\"p\",le=\"0.004\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("h_seconds_bucket{profile=\"p\",le=\"+Inf\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("h_seconds_count{profile=\"p\"} 5\n"));
}

TEST(Registry, LabelValuesAreEscaped) {
  Registry registry;
  registry.Gauge("g", "help", {{"text", "a\"b\\c\nd"}}).Set(1);
  EXPECT_THAT(registry.Expose(), HasSubstr("g{text=\"a\\\"b\\\\c\\nd\"} 1\n"));
}

TEST(Registry, CallbacksAreReadOnExposeAndCanBeRemoved) {
  Registry registry;
  double now = 1;
  registry.CallbackGauge("depth", "help", {{"q", "a"}}, [&] { return now; });
  EXPECT_THAT(registry.Expose(), HasSubstr("depth{q=\"a\"} 1\n"));
  now = 2.5;
  EXPECT_THAT(registry.Expose(), HasSubstr("depth{q=\"a\"} 2.5\n"));
  registry.RemoveCallback("depth", {{"q", "a"}});
  EXPECT_THAT(registry.Expose(), Not(HasSubstr("depth")));
}

TEST(Registry, ResetKeepsGauges) {
  Registry registry;
  registry.Counter("c_total", "help").Add(3);
  registry.Gauge("g", "help").Set(4);
  registry.Reset();
  const std::string text = registry.Expose();
  EXPECT_THAT(text, HasSubstr("c_total 0\n"));
  EXPECT_THAT(text, HasSubstr("g 4\n"));
}

TEST(Registry, NumbersAreFormattedLikeGo) {
  const std::pair<double, const char*> cases[] = {
      {0, "0"},
      {-7, "-7"},
      {0.1, "0.1"},
      {100000, "100000"},
      {1e6, "1e+06"},
      {1234567, "1.234567e+06"},
      {0.0001, "0.0001"},
      {0.00001, "1e-05"},
      {0.00011390625000000003, "0.00011390625000000003"},
      {1795284453.365, "1.795284453365e+09"},
      {1e21, "1e+21"},
      {std::numeric_limits<double>::infinity(), "+Inf"},
      {std::numeric_limits<double>::quiet_NaN(), "NaN"},
  };
  for (const auto& [value, text] : cases) {
    Registry registry;
    registry.CallbackGauge("g", "help", {}, [value = value] { return value; });
    EXPECT_THAT(registry.Expose(), HasSubstr(std::string("\ng ") + text + "\n"));
  }
}

TEST(Registry, BucketBoundsHaveGosText) {
  Registry registry;
  registry.Histogram("h", "help", ExponentialBuckets(0.00001, 1.5, 20));
  EXPECT_THAT(registry.Expose(), HasSubstr("h_bucket{le=\"0.00011390625000000003\"} 0\n"));
}

TEST(Registry, LabelsAreSortedByNameAndEqualInAnyOrder) {
  Registry registry;
  Counter& counter = registry.Counter("c_total", "help", {{"result", "ok"}, {"profile", "p"}});
  EXPECT_EQ(&counter, &registry.Counter("c_total", "help", {{"profile", "p"}, {"result", "ok"}}));
  EXPECT_THAT(registry.Expose(), HasSubstr("c_total{profile=\"p\",result=\"ok\"} 0\n"));
}

TEST(Registry, DisabledAndHiddenFamiliesAreRecordedButNotExported) {
  Registry registry({.tells_of_itself = true, .disabled = {"a_total"}, .hidden = {"b_total"}});
  registry.Counter("a_total", "[ALPHA] help").Add();
  registry.Counter("b_total", "[BETA] help").Add();
  registry.Counter("c_total", "[BETA] help").Add();
  const std::string text = registry.Expose();
  EXPECT_THAT(text, Not(HasSubstr("a_total 1")));
  EXPECT_THAT(text, Not(HasSubstr("b_total 1")));
  EXPECT_THAT(text, HasSubstr("c_total 1\n"));
  EXPECT_THAT(text, HasSubstr("\ndisabled_metrics_total 1\n"));
  EXPECT_THAT(text, HasSubstr("\nhidden_metrics_total 1\n"));
  EXPECT_THAT(text,
              HasSubstr("registered_metrics_total{deprecated_version=\"\",stability_level=\"BETA\"} 2\n"));
}

TEST(Registry, MetricsAboutMetricsAreNeitherCountedNorResetAndAreSorted) {
  Registry registry({.tells_of_itself = true});
  registry.Counter("a_total", "[ALPHA] help").Add();
  registry.Counter("z_total", "[ALPHA] help", {{"l", "1"}});
  registry.Counter("z_total", "[ALPHA] help", {{"l", "2"}});
  registry.Counter("unmarked_total", "help");
  registry.Reset();
  const std::string text = registry.Expose();
  EXPECT_THAT(text,
              HasSubstr("registered_metrics_total{deprecated_version=\"\",stability_level=\"ALPHA\"} 2\n"));
  EXPECT_LT(text.find("# HELP a_total"), text.find("# HELP cardinality_enforcement"));
  EXPECT_LT(text.find("# HELP registered_metrics_total"), text.find("# HELP unmarked_total"));
  EXPECT_THAT(Registry().Expose(), testing::IsEmpty());
}

TEST(Registry, LabelValuesThatAreNotAllowedBecomeUnexpected) {
  Registry registry({.tells_of_itself = true, .allowed_values = {{{"c_total", "code"}, {"200"}}}});
  registry.Counter("c_total", "help", {{"code", "200"}}).Add();
  registry.Counter("c_total", "help", {{"code", "404"}}).Add();
  registry.Counter("c_total", "help", {{"code", "500"}}).Add();
  const std::string text = registry.Expose();
  EXPECT_THAT(text, HasSubstr("c_total{code=\"200\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("c_total{code=\"unexpected\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("cardinality_enforcement_unexpected_categorizations_total 2\n"));
}

TEST(Registry, CallbacksWhoseValuesAreNotAllowedAreSummedAndRemovedOneByOne) {
  Registry registry({.allowed_values = {{{"use", "namespace"}, {"a"}}}});
  for (const auto& [ns, value] : std::map<std::string, double>{{"a", 1}, {"b", 2}, {"c", 4}})
    registry.CallbackGauge("use", "help", {{"resource", "cpu"}, {"namespace", ns}},
                           [value = value] { return value; });
  const auto remove = [&](const std::string& ns) {
    registry.RemoveCallback("use", {{"resource", "cpu"}, {"namespace", ns}});
  };
  EXPECT_THAT(registry.Expose(), HasSubstr("use{namespace=\"a\",resource=\"cpu\"} 1\n"));
  EXPECT_THAT(registry.Expose(), HasSubstr("use{namespace=\"unexpected\",resource=\"cpu\"} 6\n"));
  remove("c");
  EXPECT_THAT(registry.Expose(), HasSubstr("use{namespace=\"unexpected\",resource=\"cpu\"} 2\n"));
  remove("b");
  EXPECT_THAT(registry.Expose(), Not(HasSubstr("unexpected")));
  remove("a");
  EXPECT_EQ(registry.Expose(), "");
}

TEST(Registry, ExposeLosesNoConcurrentUpdates) {
  Registry registry;
  Counter& counter = registry.Counter("c_total", "help");
  const auto bounds = ExponentialBuckets(1, 2, 5);
  Histogram& histogram = registry.Histogram("h", "help", bounds);
  constexpr int kRounds = 20000;
  std::vector<std::jthread> writers;
  for (int t = 0; t < 3; ++t) {
    writers.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        counter.Add();
        histogram.Observe(i % 40);
      }
    });
  }
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(registry.Expose().empty());
  writers.clear();
  EXPECT_EQ(counter.Value(), 3 * kRounds);
  EXPECT_THAT(registry.Expose(), HasSubstr("h_count 60000\n"));
}

TEST(RegistryDeathTest, ANameCannotHaveTwoKinds) {
  Registry registry;
  registry.Counter("x", "help");
  EXPECT_DEATH(registry.Gauge("x", "help"), "two different kinds");
}

}  // namespace
}  // namespace berth::metrics
