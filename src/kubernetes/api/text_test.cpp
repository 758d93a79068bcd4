#include "kubernetes/api/text.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <unordered_set>

#include "kubernetes/api/decode.hpp"

namespace berth::api {
namespace {

TEST(Text, ReadsLikeAString) {
  const Text text = "team-a";
  const std::string& string = text;
  const std::string_view view = text;
  EXPECT_EQ(string, "team-a");
  EXPECT_EQ(view, "team-a");
  EXPECT_EQ(text.size(), 6U);
  EXPECT_EQ(text + "/" + "pod", "team-a/pod");
  EXPECT_EQ(std::string("in ") + text, "in team-a");
  EXPECT_EQ(fmt::format("{:>8}", text), "  team-a");
}

TEST(Text, DefaultsToTheEmptyText) {
  for (const Text& text : {Text(), Text(""), Text(std::string()), Text(std::string_view())}) {
    EXPECT_TRUE(text.empty());
    EXPECT_EQ(text, "");
    EXPECT_EQ(text.identity(), nullptr);
    EXPECT_STREQ(text.c_str(), "");
  }
}

TEST(Text, IsComparedAndHashedByContent) {
  const Text a = "a", also_a = std::string("a"), b = std::string_view("b");
  EXPECT_NE(a.identity(), also_a.identity());
  EXPECT_EQ(a, also_a);
  EXPECT_NE(a, b);
  EXPECT_LT(a, b);
  EXPECT_EQ(a, std::string("a"));
  EXPECT_NE(std::string_view("b"), a);
  EXPECT_EQ((std::set<Text>{b, a, also_a}.size()), 2U);
  EXPECT_EQ((std::unordered_set<Text>{b, a, also_a}.size()), 2U);
}

TEST(Text, CopiesAreUnaffectedWhenTheOriginalIsReplaced) {
  Text text = "n1";
  const Text copy = text;
  EXPECT_EQ(copy.identity(), text.identity());
  text = "n2";
  EXPECT_EQ(copy, "n1");
  EXPECT_EQ(text, "n2");
  text = {};
  EXPECT_TRUE(text.empty());
}

TEST(Text, EqualTextsOfManyPodsAreShared) {
  Decoder decoder;
  const auto read = [&] {
    return decoder
        .Object<Pod>(R"({"metadata": {"namespace": "a"}, "spec": {"nodeName": "n", "schedulerName": "s"},
                         "status": {"phase": "Running", "nominatedNodeName": "n"}})")
        .value();
  };
  const Pod one = read(), other = read();
  EXPECT_EQ(one.metadata.ns.identity(), other.metadata.ns.identity());
  EXPECT_EQ(one.spec.node_name.identity(), other.spec.node_name.identity());
  EXPECT_EQ(one.spec.node_name.identity(), one.status.nominated_node_name.identity());
  EXPECT_EQ(one.spec.scheduler_name.identity(), other.spec.scheduler_name.identity());
  EXPECT_EQ(one.status.phase.identity(), other.status.phase.identity());
}

}  // namespace
}  // namespace berth::api
