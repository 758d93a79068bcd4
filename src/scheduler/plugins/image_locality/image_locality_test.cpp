#include "scheduler/plugins/image_locality/image_locality.hpp"

#include <gtest/gtest.h>

#include "testing/cluster.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::MakeContainer;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::NodeBuilder;

constexpr std::int64_t kMi = 1 << 20;

// One container with one image that the first `with` of `nodes` nodes have.
struct ImageCase {
  std::string name;
  std::int64_t mi;
  int with, nodes;
  std::int64_t score;
};
class OneImage : public ::testing::TestWithParam<ImageCase> {};
TEST_P(OneImage, CountsByItsSizeAndSpread) {
  Cluster cluster;
  for (int i = 0; i < GetParam().nodes; ++i) {
    NodeBuilder node = MakeNode("n" + std::to_string(i));
    if (i < GetParam().with) node.Image("app:1", GetParam().mi * kMi);
    cluster.Add(node);
  }
  const auto scores = cluster.Scores(*cluster.Make<ImageLocality>(), MakePod().Image("app:1"));
  EXPECT_EQ(scores.at("n0"), GetParam().score);
  if (GetParam().with < GetParam().nodes) {
    EXPECT_EQ(scores.at("n" + std::to_string(GetParam().nodes - 1)), 0);
  }
}
INSTANTIATE_TEST_SUITE_P(Table, OneImage,
                         ::testing::Values(ImageCase{"Alone", 500, 1, 1, 48},
                                           ImageCase{"OnOneOfThree", 500, 1, 3, 14},
                                           ImageCase{"OnHalf", 250, 2, 4, 10},
                                           ImageCase{"OnOneOfTwo", 300, 1, 2, 12},
                                           ImageCase{"TooSmallToCount", 23, 1, 1, 0},
                                           ImageCase{"LargeAndEverywhere", 1000, 10, 10, 100},
                                           ImageCase{"LargerDoesNotCountMore", 5000, 1, 1, 100}),
                         [](const auto& row) { return row.param.name; });

TEST(ImageLocality, SumsTheImagesOfAllContainers) {
  Cluster cluster;
  cluster.Add(MakeNode("n").Image("a:1", 40 * kMi).Image("b:1", 300 * kMi)).Add(MakeNode("m"));
  const auto pod = MakePod().Container(MakeContainer().Image("a:1")).Init(MakeContainer().Image("b:1"));
  EXPECT_EQ(cluster.Scores(*cluster.Make<ImageLocality>(), pod).at("n"), 7);
}

TEST(ImageLocality, ImageVolumesCountAsContainersDo) {
  Cluster cluster;
  cluster.Add(MakeNode("n").Image("app:1", 800 * kMi).Image("models:1", 600 * kMi));
  auto pod = MakePod().Image("app:1");
  pod.raw().spec.image_volumes = {"models:1"};
  EXPECT_EQ(cluster.Scores(*cluster.Make<ImageLocality>(), pod).at("n"), 69);
}

TEST(ImageLocality, ANameWithoutTagMeansLatest) {
  Cluster cluster;
  cluster.Add(MakeNode("n").Image("repo:5000/app:latest", 500 * kMi));
  const auto plugin = cluster.Make<ImageLocality>();
  EXPECT_EQ(cluster.Scores(*plugin, MakePod().Image("repo:5000/app")).at("n"), 48);
  EXPECT_EQ(cluster.Scores(*plugin, MakePod().Image("repo:5000/app:v1")).at("n"), 0);
}

TEST(ImageLocality, PodsWithUnknownImagesScoreZero) {
  Cluster cluster;
  cluster.Add(MakeNode("n").Image("other:1", 500 * kMi));
  EXPECT_EQ(cluster.Scores(*cluster.Make<ImageLocality>(), MakePod().Image("app:1")).at("n"), 0);
}

}  // namespace
}  // namespace berth::plugins
