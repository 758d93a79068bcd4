#include "metrics/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace berth::metrics {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Registry, ShowsFamiliesByNameAndCellsByLabels) {
  Registry registry;
  registry.Counter("b_total", "[STABLE] Second", {{"result", "unschedulable"}}).Add(2);
  registry.Counter("b_total", "[STABLE] Second", {{"result", "scheduled"}}).Add();
  registry.Gauge("a_pods", "[ALPHA] First").Set(-7);
  EXPECT_EQ(registry.Expose(),
            "# HELP a_pods [ALPHA] First\n"
            "# TYPE a_pods gauge\n"
            "a_pods -7\n"
            "# HELP b_total [STABLE] Second\n"
            "# TYPE b_total counter\n"
            "b_total{result=\"scheduled\"} 1\n"
            "b_total{result=\"unschedulable\"} 2\n");
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

TEST(Registry, CallbacksAreReadWhenSomebodyLooksAndCanBeForgotten) {
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

TEST(Registry, NothingIsLostWhileSomebodyLooks) {
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

TEST(RegistryDeathTest, OneNameIsOneKind) {
  Registry registry;
  registry.Counter("x", "help");
  EXPECT_DEATH(registry.Gauge("x", "help"), "two different kinds");
}

}  // namespace
}  // namespace berth::metrics
