#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "few_pods.hpp"
#include "spare_gpus.hpp"
#include "testing/cluster.hpp"

namespace examples {
namespace {

using berth::testing::Cluster;
using berth::testing::Fits;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::NodeScores;
using berth::testing::Unresolvable;
using berth::testing::Unschedulable;
using ::testing::HasSubstr;

TEST(FewPods, RejectsFullNodesAndPrefersEmptyOnes) {
  Cluster cluster;
  cluster.Add(MakeNode("full")).Add(MakeNode("half")).Add(MakeNode("empty"));
  for (const auto* name : {"a", "b", "c", "d"}) cluster.Run("full", MakePod(name));
  for (const auto* name : {"e", "f"}) cluster.Run("half", MakePod(name));
  cluster.Run("empty", MakePod("foreign").Namespace("other"));
  const auto plugin = cluster.Make<FewPods>("most: 4");
  const auto verdicts = cluster.Filter(*plugin, MakePod("new"));
  EXPECT_EQ(verdicts.at("full"), Unschedulable({"node(s) had enough pods of the namespace"}));
  EXPECT_EQ(verdicts.at("half"), Fits());
  EXPECT_EQ(cluster.Scores(*plugin, MakePod("new")), (NodeScores{{"empty", 100}, {"full", 0}, {"half", 50}}));
}

TEST(FewPods, SaysWhatIsWrongWithItsArguments) {
  Cluster cluster;
  EXPECT_THAT(cluster.TryMake<FewPods>("mots: 4").error().message, HasSubstr("unknown field \"mots\""));
  EXPECT_THAT(cluster.TryMake<FewPods>("most: 0").error().message,
              HasSubstr("profiles[0].pluginConfig[0].args.most: Invalid value"));
}

TEST(SpareGpus, KeepsGpusForThoseWhoUseThem) {
  Cluster cluster;
  cluster.Add(MakeNode("plain")).Add(MakeNode("gpu").Allocatable("nvidia.com/gpu", "8"));
  const auto plugin = cluster.Make<SpareGpus>();
  (void)cluster.PreFilter(*plugin, MakePod());
  const auto verdicts = cluster.Filter(*plugin, MakePod());
  EXPECT_EQ(verdicts.at("plain"), Fits());
  EXPECT_EQ(verdicts.at("gpu"), Unresolvable({"node(s) had GPUs to spare for pods that use them"}));
}

}  // namespace
}  // namespace examples
