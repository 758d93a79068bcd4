#include "scheduler/cycle/class_latency.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/cycle/fake_scheduler_environment.hpp"
#include "testing/builders.hpp"

namespace berth::cycle {
namespace {

using berth::testing::MakeNode;
using berth::testing::MakePod;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

framework::QueuedPod PodOfClass(const std::string& value) {
  framework::QueuedPod pod;
  pod.info.pod = (value.empty() ? MakePod() : MakePod().Label("tier", value)).Share();
  return pod;
}

struct ClassLatencyTest : ::testing::Test {
  std::string Count(const std::string& name) {
    const std::string line = "berth_pod_bind_duration_seconds_count{class=\"" + name + "\"} ";
    const std::string text = registry.Expose();
    const auto at = text.find(line);
    if (at == text.npos) return "-";
    return text.substr(at + line.size(), text.find('\n', at) - at - line.size());
  }
  metrics::Registry registry;
};

TEST_F(ClassLatencyTest, TheClassIsTheValueOfTheLabel) {
  ClassLatency latency(registry, {.label = "tier"});
  for (const auto* value : {"gold", "gold", "batch", ""}) latency.Bound(PodOfClass(value), MonoTime(1s));
  EXPECT_EQ(Count("gold"), "2");
  EXPECT_EQ(Count("batch"), "1");
  EXPECT_EQ(Count("none"), "1");
}

TEST_F(ClassLatencyTest, TheNumberOfClassesIsLimited) {
  ClassLatency latency(registry, {.label = "tier", .most_classes = 2});
  for (const auto* value : {"a", "b", "c", "d", "a"}) latency.Bound(PodOfClass(value), MonoTime(1s));
  EXPECT_EQ(Count("a"), "2");
  EXPECT_EQ(Count("b"), "1");
  EXPECT_EQ(Count("other"), "2");
  EXPECT_EQ(Count("c"), "-");
}

TEST_F(ClassLatencyTest, WithoutALabelThereIsNoMetric) {
  ClassLatency latency(registry, {});
  latency.Bound(PodOfClass("gold"), MonoTime(1s));
  EXPECT_THAT(registry.Expose(), Not(HasSubstr("berth_pod_bind_duration_seconds")));
}

TEST(ClassLatencyOfScheduler, TheTimeInTheQueueCountsAcrossAttempts) {
  SchedulerEnvironment environment;
  SchedulerOptions options;
  options.class_latency.label = "tier";
  environment.Build(config::DefaultSchedulerConfig(), assembly::InTreePlugins(), options);
  environment.loop.sink().OnSynced();
  environment.loop.sink().On(
      ports::Change<api::Pod>{nullptr, MakePod("p").Cpu("1").Label("tier", "gold").Share()});
  environment.Settle();
  environment.Wait(30s);
  environment.loop.sink().On(ports::Change<api::Node>{
      nullptr, std::make_shared<const api::Node>(MakeNode("n").Cpu("4").Memory("4Gi"))});
  environment.Wait(3s);  // the back-off
  const std::string text = environment.metrics.Expose();
  EXPECT_TRUE(text.contains("berth_pod_bind_duration_seconds_bucket{class=\"gold\",le=\"20.48\"} 0\n"));
  EXPECT_TRUE(text.contains("berth_pod_bind_duration_seconds_bucket{class=\"gold\",le=\"40.96\"} 1\n"));
}

}  // namespace
}  // namespace berth::cycle
