#include "scheduler/plugins/taint_toleration/taint_toleration.hpp"

#include <gtest/gtest.h>

#include "testing/cluster.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::Fits;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::NodeBuilder;
using berth::testing::NodeScores;
using berth::testing::PodBuilder;
using berth::testing::Unresolvable;

struct FilterCase {
  std::string name;
  NodeBuilder node;
  PodBuilder pod;
  bool fits;
};
class Taints : public ::testing::TestWithParam<FilterCase> {};
TEST_P(Taints, RejectPodsThatDoNotTolerateThem) {
  Cluster cluster;
  cluster.Add(GetParam().node);
  const auto plugin = cluster.Make<TaintToleration>();
  EXPECT_EQ(cluster.Filter(*plugin, GetParam().pod).at("n"),
            GetParam().fits ? Fits() : Unresolvable({"node(s) had untolerated taint(s)"}));
}
INSTANTIATE_TEST_SUITE_P(
    Table, Taints,
    ::testing::Values(
        FilterCase{"NoTaint", MakeNode("n"), MakePod(), true},
        FilterCase{"NoScheduleUntolerated", MakeNode("n").Taint("k", "v", "NoSchedule"), MakePod(), false},
        FilterCase{"NoExecuteUntolerated", MakeNode("n").Taint("k", "v", "NoExecute"), MakePod(), false},
        FilterCase{"PreferNoScheduleDoesNotReject", MakeNode("n").Taint("k", "v", "PreferNoSchedule"),
                   MakePod(), true},
        FilterCase{"UnknownEffectsAreIgnored", MakeNode("n").Taint("k", "v", "Whatever"), MakePod(), true},
        FilterCase{"Tolerated", MakeNode("n").Taint("k", "v", "NoSchedule"),
                   MakePod().Tolerating("k", "Equal", "v", "NoSchedule"), true},
        FilterCase{"ToleratedForAnotherEffect", MakeNode("n").Taint("k", "v", "NoSchedule"),
                   MakePod().Tolerating("k", "Equal", "v", "NoExecute"), false},
        FilterCase{"EachTaintNeedsItsToleration",
                   MakeNode("n").Taint("a", "", "NoSchedule").Taint("b", "", "NoSchedule"),
                   MakePod().Tolerating("a", "Exists"), false},
        FilterCase{"SeveralTolerationsTogether",
                   MakeNode("n").Taint("a", "", "NoSchedule").Taint("b", "", "NoSchedule"),
                   MakePod().Tolerating("a", "Exists").Tolerating("b", "Exists"), true}),
    [](const auto& row) { return row.param.name; });

// Nodes with these numbers of PreferNoSchedule taints, and the normalized scores.
struct TaintScoreCase {
  std::string name;
  std::vector<int> taints;
  std::vector<std::int64_t> scores;
};
class TaintScore : public ::testing::TestWithParam<TaintScoreCase> {};
TEST_P(TaintScore, IsHighestWithTheFewestUntoleratedTaints) {
  Cluster cluster;
  NodeScores raw;
  NodeScores wanted;
  for (std::size_t i = 0; i < GetParam().taints.size(); ++i) {
    const std::string name = "n" + std::to_string(i);
    NodeBuilder node = MakeNode(name).Taint("hard", "", "NoSchedule");
    for (int t = 0; t < GetParam().taints[i]; ++t) node.Taint("soft", "", "PreferNoSchedule");
    cluster.Add(node);
    raw[name] = GetParam().taints[i];
    wanted[name] = GetParam().scores[i];
  }
  const auto plugin = cluster.Make<TaintToleration>();
  EXPECT_EQ(cluster.RawScores(*plugin, MakePod()), raw);
  EXPECT_EQ(cluster.Scores(*plugin, MakePod()), wanted);
}
INSTANTIATE_TEST_SUITE_P(Table, TaintScore,
                         ::testing::Values(TaintScoreCase{"Spread", {0, 1, 2, 3}, {100, 67, 34, 0}},
                                           TaintScoreCase{"Some", {1, 3}, {67, 0}},
                                           TaintScoreCase{"None", {0, 0}, {100, 100}},
                                           TaintScoreCase{"AllAlike", {2, 2}, {0, 0}}),
                         [](const auto& row) { return row.param.name; });

TEST(TaintScore, CountsOnlyUntoleratedTaints) {
  Cluster cluster;
  cluster.Add(MakeNode("n").Taint("a", "", "PreferNoSchedule").Taint("b", "", "PreferNoSchedule"));
  const auto plugin = cluster.Make<TaintToleration>();
  EXPECT_EQ(cluster.RawScores(*plugin, MakePod().Tolerating("a", "Exists")).at("n"), 1);
  EXPECT_EQ(cluster.RawScores(*plugin, MakePod().Tolerating("a", "Exists", "", "PreferNoSchedule")).at("n"),
            1);
  EXPECT_EQ(cluster.RawScores(*plugin, MakePod().Tolerating("a", "Exists", "", "NoSchedule")).at("n"), 2);
  EXPECT_TRUE(cluster.PreScore(*plugin, MakePod()).ok()) << "never skips";
}

}  // namespace
}  // namespace berth::plugins
