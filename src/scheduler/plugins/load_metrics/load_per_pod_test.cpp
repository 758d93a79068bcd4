#include "scheduler/plugins/load_metrics/load_per_pod.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "testing/load_metrics.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using namespace std::chrono_literals;

// Nodes with the given numbers of pods, all measured.
struct MeasuredNodes {
  MeasuredNodes() { signals.SetClock(clock); }

  void AddNodes(const std::vector<int>& pods) {
    for (std::size_t node = 0; node < pods.size(); ++node) {
      const std::string name = fmt::format("n{}", node);
      cluster.Add(MakeNode(name));
      for (int i = 0; i < pods[node]; ++i) cluster.Run(name, MakePod(fmt::format("p{}-{}", node, i)));
    }
    clock.Advance(10min);
  }
  double Poll(const std::vector<double>& loads) {
    clock.Advance(15s);
    std::vector<std::pair<std::string, double>> values;
    for (std::size_t node = 0; node < loads.size(); ++node)
      values.emplace_back(fmt::format("n{}", node), loads[node]);
    berth::testing::Measure(cluster, "load", values, clock.Now());
    per_pod.Learn(signals.signal(id), cluster.nodes(), unmeasured);
    return per_pod.value();
  }

  ManualClock clock;
  Cluster cluster;
  load_metrics::SignalTable& signals = cluster.handle().signals;
  const load_metrics::SignalId id =
      signals.Declare({.name = "load", .source = "p", .expression = "q", .window = 5min});
  UnmeasuredPods unmeasured{cluster.handle(), id,
                            [](const api::Pod&, const cluster::PodUse&) { return 1.0; }};
  LoadPerPod per_pod;
};
struct LoadPerPodTest : ::testing::Test, MeasuredNodes {};

// The load of the system differs, and nodes with much of it get fewer pods, as a scheduler would place them.
TEST_F(LoadPerPodTest, TheEstimateConvergesToTheLoadThatPodsAdd) {
  AddNodes({8, 7, 6, 5, 4, 3, 2, 1});
  std::mt19937 random(3);
  double last = 0;
  for (int poll = 0; poll < 1000; ++poll) {
    const unsigned to = random() % 8;
    cluster.Run(fmt::format("n{}", to), MakePod(fmt::format("new-{}", poll)));
    if (poll % 2 == 0) {
      const cluster::Row row = cluster.RowOf(fmt::format("n{}", random() % 8));
      const auto pods = cluster.nodes().pods(row);
      if (pods.size() > 5) cluster.nodes().RemovePod(row, *pods.front());
    }
    std::vector<double> loads;
    for (int node = 0; node < 8; ++node) {
      const cluster::Row row = cluster.RowOf(fmt::format("n{}", node));
      const double measured = static_cast<double>(cluster.nodes().pod_count()[row]) - unmeasured.At(row);
      loads.push_back(500 * (1 + node) + 10 * measured + static_cast<double>(random() % 7) / 10);
    }
    last = Poll(loads);
  }
  EXPECT_NEAR(last, 10, 2);
}

TEST_F(LoadPerPodTest, UnchangedMeasurementsLeadToAStableEstimate) {
  AddNodes({1, 2, 3, 4});
  const std::vector<double> loads = {110, 120, 130, 140};
  const double before = Poll(loads);
  EXPECT_NEAR(before, 12.5, 1e-6) << "a tenth of the mean";
  for (int poll = 0; poll < 50; ++poll) EXPECT_NEAR(Poll(loads), before, 1e-6);
  for (int i = 0; i < 5; ++i) cluster.Run("n0", MakePod(fmt::format("new-{}", i)));
  EXPECT_NEAR(Poll(loads), before, 1e-6) << "the new pods are not measured yet";
}

TEST(LoadPerPod, TheEstimateIsBounded) {
  const struct {
    std::string name;
    std::vector<int> pods;
    std::vector<double> loads;
    double least, most;
  } cases[] = {
      {"one pod in a busy cluster", {1, 0, 0, 0}, {100, 100, 100, 100}, 10, 10},
      {"no pods", {0, 0}, {100, 100}, 10, 10},
      {"no differences between the nodes", {3, 3, 3}, {65, 65, 65}, 6.5, 6.5},
      {"fuller nodes have less load", {1, 5, 9}, {90, 50, 10}, 5, 5},
      {"one outlier", {1, 0, 0, 0, 0}, {1e9, 10, 10, 10, 10}, 10, 10},
      {"no load", {1, 2}, {0, 0}, 0, 0},
      {"few pods on each node", {2, 4}, {20, 40}, 3, 3},
      {"many pods on each node", {20, 40}, {20, 40}, 1, 1},
  };
  for (const auto& [name, pods, loads, least, most] : cases) {
    MeasuredNodes fresh;
    fresh.AddNodes(pods);
    for (int poll = 0; poll < 20; ++poll) {
      const double value = fresh.Poll(loads);
      EXPECT_GE(value, least - 1e-9) << name;
      EXPECT_LE(value, most + 1e-9) << name;
    }
  }
}

TEST_F(LoadPerPodTest, AnAbsurdlyLargeMeasurementHasNoEffectOnLaterEstimates) {
  AddNodes({1, 2, 3, 4});
  const std::vector<double> loads = {110, 120, 130, 140};
  const double before = Poll(loads);
  EXPECT_TRUE(std::isfinite(Poll({1.7e308, 1.7e308, 130, 140})));
  Poll(loads);
  EXPECT_NEAR(Poll(loads), before, 1e-6);
}

// The sums of the regression do not overflow, but would keep the estimate at its limit.
TEST_F(LoadPerPodTest, AnAbsurdMeasurementOfANodeWithNewPodsIsNotLearned) {
  AddNodes({1, 2, 3, 4});
  const std::vector<double> loads = {110, 120, 130, 140};
  Poll(loads);
  cluster.Run("n0", MakePod("new"));
  clock.Advance(10min);
  const double with_new_pod = Poll({120, 120, 130, 140});
  for (const double absurd : {1e200, -1e200}) {
    cluster.Run("n1", MakePod(fmt::format("next{}", absurd)));
    clock.Advance(10min);
    EXPECT_TRUE(std::isfinite(Poll({120, absurd, 130, 140})));
    Poll({120, 130, 130, 140});
  }
  EXPECT_NEAR(Poll({120, 130, 130, 140}), with_new_pod, 2);
}

TEST_F(LoadPerPodTest, TheEstimateOfAbsurdMeasurementsOnlyIsFinite) {
  AddNodes({1, 2, 3, 4});
  for (const double absurd : {1e200, 1.7e308}) {
    for (int i = 0; i < 3; ++i) {
      cluster.Run("n0", MakePod(fmt::format("p{}-{}", absurd, i)));
      clock.Advance(10min);
      EXPECT_EQ(Poll({absurd, absurd, -absurd, absurd}), 0);
    }
  }
}

TEST_F(LoadPerPodTest, OnePollCountsOnce) {
  AddNodes({1, 2, 3, 4});
  const double once = Poll({100, 140, 180, 220});
  for (int i = 0; i < 10; ++i) per_pod.Learn(signals.signal(id), cluster.nodes(), unmeasured);
  EXPECT_EQ(per_pod.value(), once);
}

}  // namespace
}  // namespace berth::plugins
