#include "scheduler/plugins/load_metrics/workload_usage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "testing/cluster.hpp"

namespace berth::plugins {
namespace {

using berth::testing::MakeNode;
using berth::testing::MakePod;
using load_metrics::Subject;
using namespace std::chrono_literals;

api::Pod NamedPod(const std::string& name, const std::string& kind, const std::string& controller) {
  api::Pod pod = MakePod(name);
  api::OwnerReference owner;
  owner.kind = kind;
  owner.name = controller;
  pod.metadata.controller = std::move(owner);
  return pod;
}

TEST(WorkloadOfTest, IsTheControllerIndependentOfRevisionAndRun) {
  api::Pod web = NamedPod("web-5d4f8-x", "ReplicaSet", "web-5d4f8");
  EXPECT_EQ(WorkloadOf(web), "default/ReplicaSet/web-5d4f8");
  web.metadata.labels.Set("pod-template-hash", "5d4f8");
  EXPECT_EQ(WorkloadOf(web), "default/ReplicaSet/web");
  EXPECT_EQ(WorkloadOf(NamedPod("a", "Job", "report-28931040")), "default/Job/report");
  EXPECT_EQ(WorkloadOf(NamedPod("a", "Job", "report-2026")), "default/Job/report-2026");
  EXPECT_EQ(WorkloadOf(NamedPod("a", "StatefulSet", "db-28931040")), "default/StatefulSet/db-28931040");
  EXPECT_EQ(WorkloadOf(MakePod("alone")), "");
}

// Pods that have run on one node since time 0; the clock is at two hours.
struct WorkloadUseTest : ::testing::Test {
  WorkloadUseTest() {
    clock.Advance(2h);
    measurements.SetClock(clock);
    cluster.Add(MakeNode("n"));
  }
  api::Pod Started(api::Pod pod, Duration ago) {
    const auto at = clock.WallNow() - ago;
    pod.status.start_time = std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count();
    return pod;
  }
  void TakeUsage(const std::vector<std::pair<std::string, double>>& pods) {
    load_metrics::SignalAnswer answer{
        .signal = signal, .polled_at = clock.Now(), .renumbered = true, .fresh = nullptr, .samples = {}};
    std::vector<load_metrics::SeriesName> names;
    for (const auto& [pod, value] : pods) {
      answer.samples.emplace_back(names.size(), value);
      names.push_back({{"namespace", "default"}, {"pod", pod}});
    }
    answer.fresh = std::make_shared<const std::vector<load_metrics::SeriesName>>(std::move(names));
    measurements.Take(answer);
  }

  ManualClock clock;
  berth::testing::Cluster cluster;
  load_metrics::SignalTable& measurements = cluster.handle().signals;
  load_metrics::SignalId signal = measurements.Declare(
      {.name = "use", .source = "s", .expression = "use", .window = 5min, .subject = Subject::kPod});
  WorkloadUsage use{cluster.handle(), signal};
};

TEST_F(WorkloadUseTest, TheEstimateIsTheMeanOfTheWorkloadsPods) {
  cluster.Run("n", Started(NamedPod("a-1", "StatefulSet", "a"), 1h))
      .Run("n", Started(NamedPod("a-2", "StatefulSet", "a"), 1h));
  TakeUsage({{"a-1", 2}, {"a-2", 4}, {"unrelated", 100}});
  EXPECT_DOUBLE_EQ(use.Of(NamedPod("a-3", "StatefulSet", "a")), 3);
  EXPECT_TRUE(std::isnan(use.Of(NamedPod("b-1", "StatefulSet", "b"))));
  EXPECT_TRUE(std::isnan(use.Of(MakePod("alone"))));
}

TEST_F(WorkloadUseTest, ASingleOutlierIsSmoothed) {
  cluster.Run("n", Started(NamedPod("a-1", "StatefulSet", "a"), 1h));
  TakeUsage({{"a-1", 1}});
  TakeUsage({{"a-1", 11}});
  EXPECT_DOUBLE_EQ(use.Of(NamedPod("a-2", "StatefulSet", "a")), 3);
}

TEST_F(WorkloadUseTest, PodsYoungerThanTheWindowAreIgnored) {
  cluster.Run("n", Started(NamedPod("a-1", "StatefulSet", "a"), 4min))
      .Run("n", NamedPod("a-2", "StatefulSet", "a"));
  TakeUsage({{"a-1", 1}, {"a-2", 1}});
  EXPECT_TRUE(std::isnan(use.Of(NamedPod("a-3", "StatefulSet", "a"))));
  clock.Advance(2min);
  TakeUsage({{"a-1", 1}});
  EXPECT_DOUBLE_EQ(use.Of(NamedPod("a-3", "StatefulSet", "a")), 1);
}

TEST_F(WorkloadUseTest, PodsWhoseStartIsFarInTheFutureAreIgnored) {
  api::Pod pod = NamedPod("a-1", "StatefulSet", "a");
  pod.status.start_time = 253'402'300'799;  // the year 9999
  cluster.Run("n", pod);
  TakeUsage({{"a-1", 1}});
  EXPECT_EQ(use.known(), 0U);
}

TEST_F(WorkloadUseTest, NaNIsIgnored) {
  cluster.Run("n", Started(NamedPod("a-1", "StatefulSet", "a"), 1h));
  TakeUsage({{"a-1", load_metrics::kNoValue}});
  EXPECT_EQ(use.known(), 0U);
}

TEST_F(WorkloadUseTest, AnAbsurdlyLargeValueIsIgnored) {
  cluster.Run("n", Started(NamedPod("a-1", "StatefulSet", "a"), 1h))
      .Run("n", Started(NamedPod("a-2", "StatefulSet", "a"), 1h));
  TakeUsage({{"a-1", 2}, {"a-2", 4}});
  TakeUsage({{"a-1", 1.7e308}, {"a-2", 1.7e308}});
  EXPECT_DOUBLE_EQ(use.Of(NamedPod("a-3", "StatefulSet", "a")), 3);
}

TEST_F(WorkloadUseTest, WorkloadsExpireAfterAWeekWithoutPods) {
  cluster.Run("n", Started(NamedPod("a-1", "StatefulSet", "a"), 1h))
      .Run("n", Started(NamedPod("b-1", "StatefulSet", "b"), 1h));
  TakeUsage({{"a-1", 1}, {"b-1", 1}});
  clock.Advance(24h * 8);
  TakeUsage({{"b-1", 1}});
  EXPECT_EQ(use.known(), 1U);
  EXPECT_TRUE(std::isnan(use.Of(NamedPod("a-2", "StatefulSet", "a"))));
}

}  // namespace
}  // namespace berth::plugins
