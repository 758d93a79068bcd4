#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/framework/cycle_state.hpp"
#include "scheduler/framework/one_node.hpp"
#include "scheduler/framework/plugin.hpp"
#include "testing/builders.hpp"
#include "testing/cluster.hpp"

namespace berth::framework {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ScoreColumn, IsUniformUntilOneRowDiffers) {
  framework::ScoreColumn column;
  column.Reset(3);
  column.SetAll(7);
  EXPECT_TRUE(column.uniform());
  EXPECT_EQ(column.At(2), 7);
  column.Mutable()[1] = 9;
  EXPECT_FALSE(column.uniform());
  EXPECT_THAT(column.values(), ElementsAre(7, 9, 7));
  column.Reset(2);
  EXPECT_THAT(column.Mutable(), ElementsAre(0, 0)) << "previous scores are cleared";
}

struct NormalizeCase {
  bool reverse;
  std::vector<std::int64_t> raw, normalized;
};
class Normalize : public ::testing::TestWithParam<NormalizeCase> {};
TEST_P(Normalize, ScalesProportionallyToTheMaximum) {
  framework::ScoreColumn column;
  RowSet feasible;
  column.Reset(GetParam().raw.size() + 1);
  column.Mutable().back() = 1'000'000;  // a row that is not feasible has no effect
  for (std::size_t row = 0; row < GetParam().raw.size(); ++row) {
    feasible.Add(row);
    column.Mutable()[row] = GetParam().raw[row];
  }
  framework::NormalizeByMaximum(feasible, GetParam().reverse, column);
  for (std::size_t row = 0; row < GetParam().raw.size(); ++row)
    EXPECT_EQ(column.At(row), GetParam().normalized[row]) << row;
}
INSTANTIATE_TEST_SUITE_P(
    Table, Normalize,
    ::testing::Values(NormalizeCase{false, {0, 30, 80, 50}, {0, 37, 100, 62}},
                      NormalizeCase{false, {7, 7}, {100, 100}}, NormalizeCase{false, {0, 0}, {0, 0}},
                      NormalizeCase{false, {-3, 3}, {-100, 100}}, NormalizeCase{false, {-3, -1}, {-3, -1}},
                      NormalizeCase{true, {0, 1, 2, 3}, {100, 67, 34, 0}},
                      NormalizeCase{true, {0, 0}, {100, 100}}, NormalizeCase{true, {2, 2}, {0, 0}}));

TEST(Normalize, AUniformColumnIsNormalizedLikeItsValues) {
  const auto normalized = [](std::int64_t value, bool reverse) {
    framework::ScoreColumn column;
    column.Reset(2);
    column.SetAll(value);
    framework::NormalizeByMaximum(RowSet(2), reverse, column);
    EXPECT_TRUE(column.uniform());
    return column.At(0);
  };
  EXPECT_EQ(normalized(5, false), 100);
  EXPECT_EQ(normalized(0, false), 0);
  EXPECT_EQ(normalized(5, true), 0);
  EXPECT_EQ(normalized(0, true), 100);
}

TEST(ClusterEvent, MatchesItsRegistrations) {
  const framework::ClusterEvent node_label{framework::EventResource::kNode, kUpdateNodeLabel};
  EXPECT_TRUE(node_label.Matches({framework::EventResource::kNode, kUpdateNodeLabel}));
  EXPECT_FALSE(node_label.Matches({framework::EventResource::kNode, kUpdateNodeTaint}));
  EXPECT_FALSE(node_label.Matches({framework::EventResource::kAssignedPod, kUpdateNodeLabel}));
  EXPECT_FALSE(node_label.Matches({framework::EventResource::kNode, framework::kUpdate}))
      << "a general update is not the update of a label";
  EXPECT_TRUE((framework::ClusterEvent{framework::EventResource::kNode, kAdd | framework::kUpdate})
                  .Matches({framework::EventResource::kNode, kUpdateNodeTaint}));
  EXPECT_TRUE(
      framework::ClusterEvent{}.Matches({framework::EventResource::kTargetPod, kUpdatePodToleration}));
  EXPECT_TRUE(framework::ClusterEvent{}.wildcard());
  EXPECT_FALSE(node_label.wildcard());
}

TEST(Status, ReasonsAreJoined) {
  EXPECT_EQ((Status{framework::Code::kUnschedulable, {"a", "b"}, ""}.Message()), "a, b");
  EXPECT_TRUE(Status::Unresolvable("x").rejected());
  EXPECT_FALSE(Status::Error("x").rejected());
  EXPECT_FALSE(Status::Skip().ok());
}

TEST(CycleStateTest, ACloneHasTheValuesAndMarksOfItsTime) {
  const StateKey<int> first(1), second(2);
  const StateMark seen{2}, other{4};
  CycleState state;
  state.Write(first, 1);
  state.Write(second, 2);
  state.Mark(seen);
  CycleState clone = state.Clone();
  state.Write(second, 3);
  state.Mark(other);
  EXPECT_EQ(*clone.Read(first), 1);
  EXPECT_EQ(*clone.Read(second), 2);
  EXPECT_TRUE(clone.Has(seen));
  EXPECT_FALSE(clone.Has(other));
  EXPECT_TRUE(state.Has(seen) && state.Has(other));
}

class CountsPreBind final : public BlockingPreBindPlugin {
 public:
  using BlockingPreBindPlugin::BlockingPreBindPlugin;
  std::string_view Name() const override { return "CountsPreBind"; }
  Status PreBindNow(const Placement&, std::stop_token) override {
    ++calls;
    return {};
  }
  int calls = 0;
};

TEST(BlockingPreBind, IsNotCalledIfItsStopWasRequestedBefore) {
  berth::testing::Cluster cluster;
  CountsPreBind plugin(cluster.handle());
  const auto pod = cluster.Prepare(berth::testing::MakePod());
  const std::string node = "n";
  const Placement placement{pod, node, cluster.state()};
  std::stop_source stop;
  int succeeded = 0;
  const auto run = [&] {
    plugin.PreBind(placement, stop.get_token(), [&](const Status& status) { succeeded += status.ok(); });
  };
  run();
  EXPECT_EQ(plugin.calls, 1);
  stop.request_stop();
  run();
  EXPECT_EQ(plugin.calls, 1);
  EXPECT_EQ(succeeded, 2);
}

}  // namespace
}  // namespace berth::framework
