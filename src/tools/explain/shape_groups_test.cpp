#include "tools/explain/shape_groups.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/builders.hpp"

namespace berth::explain {
namespace {

using berth::testing::MakePod;
using ::testing::ElementsAre;
using Names = std::vector<std::string>;

std::vector<Names> NamesOf(const std::vector<std::vector<api::PodPtr>>& groups) {
  std::vector<Names> all;
  for (const auto& group : groups) {
    Names& names = all.emplace_back();
    for (const api::PodPtr& pod : group) names.push_back(pod->metadata.name);
  }
  return all;
}

TEST(GroupByShape, PodsThatDifferOnlyInTheirNamesAreOneGroup) {
  EXPECT_THAT(NamesOf(GroupByShape({MakePod("a").Cpu("1").Share(), MakePod("b").Cpu("2").Share(),
                                    MakePod("c").Cpu("1").Share(), MakePod("d").Cpu("2").Share()})),
              ElementsAre(Names{"a", "c"}, Names{"b", "d"}));
}

TEST(GroupByShape, PodsThatDifferOtherwiseAreNot) {
  const auto labelled = MakePod("labelled").Label("app", "web").Share();
  auto nominated = MakePod("nominated");
  nominated.raw().status.nominated_node_name = "n";
  auto priority = MakePod("priority").Priority(5);
  EXPECT_THAT(
      NamesOf(GroupByShape({MakePod("plain").Share(), labelled, nominated.Share(), priority.Share()})),
      ElementsAre(Names{"plain"}, Names{"labelled"}, Names{"nominated"}, Names{"priority"}));
}

TEST(GroupByShape, APodWithANodeIsAGroupOfItsOwn) {
  EXPECT_THAT(NamesOf(GroupByShape({MakePod("a").OnNode("n").Share(), MakePod("b").OnNode("n").Share(),
                                    MakePod("c").Share(), MakePod("d").Share()})),
              ElementsAre(Names{"a"}, Names{"b"}, Names{"c", "d"}));
}

}  // namespace
}  // namespace berth::explain
