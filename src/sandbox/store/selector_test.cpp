#include "sandbox/store/selector.hpp"

#include <gtest/gtest.h>

namespace berth::sandbox {
namespace {

Object Pod() {
  Document document;
  document.root()["metadata"] =
      json::object{{"name", "web"},
                   {"namespace", "shop"},
                   {"labels", json::object{{"app", "web"}, {"tier", "front"}, {"size", "7"}, {"empty", ""}}}};
  document.root()["spec"] = json::object{{"nodeName", "n1"}, {"schedulerName", "a,b"}};
  document.root()["status"] = json::object{{"phase", "Running"}};
  return *MakeObject(Known().pods, document.root(), 1);
}

struct SelectorCase {
  std::string name;
  std::string text;
  bool matches;
};
class Labels : public testing::TestWithParam<SelectorCase> {};
TEST_P(Labels, MatchAsInKubernetes) {
  const auto selector = LabelSelector::Parse(GetParam().text);
  ASSERT_TRUE(selector.has_value()) << selector.error().message;
  EXPECT_EQ(selector->Matches(Pod()), GetParam().matches);
}
INSTANTIATE_TEST_SUITE_P(Table, Labels,
                         testing::Values(SelectorCase{"NothingMatchesEverything", "", true},
                                         SelectorCase{"Equality", "app=web", true},
                                         SelectorCase{"DoubleEquality", "app==db", false},
                                         SelectorCase{"AllTermsCount", "app=web,tier=back", false},
                                         SelectorCase{"InequalityHoldsForAnAbsentKey", "nope!=x", true},
                                         SelectorCase{"NotinHoldsForAnAbsentKey", "nope notin (x,y)", true},
                                         SelectorCase{"In", "tier in (back, front)", true},
                                         SelectorCase{"Notin", "tier notin (back,front)", false},
                                         SelectorCase{"Exists", "app", true},
                                         SelectorCase{"DoesNotExist", "!app", false},
                                         SelectorCase{"AnEmptyValue", "empty=", true},
                                         SelectorCase{"GreaterAsIntegers", "size>6", true},
                                         SelectorCase{"LessAsIntegers", "size<7", false},
                                         SelectorCase{"ComparisonOfAWordIsFalse", "app>1", false}),
                         [](const auto& row) { return row.param.name; });

TEST(Labels, InvalidSyntaxIsAnError) {
  for (const std::string_view text :
       {"a b", "a in x", "a in (x", ",a", "a,", "=x", "a=b=c", "a>x", "a in (x))", "-a=b", "a=-"}) {
    EXPECT_FALSE(LabelSelector::Parse(text).has_value()) << text;
  }
}

class Fields : public testing::TestWithParam<SelectorCase> {};
TEST_P(Fields, MatchAsInKubernetes) {
  const auto selector = FieldSelector::Parse(Known().pods, GetParam().text);
  ASSERT_TRUE(selector.has_value()) << selector.error().message;
  EXPECT_EQ(selector->Matches(Pod()), GetParam().matches);
}
INSTANTIATE_TEST_SUITE_P(
    Table, Fields,
    testing::Values(SelectorCase{"Name", "metadata.name=web", true},
                    SelectorCase{"Namespace", "metadata.namespace!=shop", false},
                    SelectorCase{"Node", "spec.nodeName=n1", true},
                    SelectorCase{"TheOldNameOfNode", "spec.host=n1", true},
                    SelectorCase{"TerminalPodsLeftOut", "status.phase!=Succeeded,status.phase!=Failed", true},
                    SelectorCase{"AbsentIsEmpty", "status.podIP=", true},
                    SelectorCase{"AnAbsentBooleanIsFalse", "spec.hostNetwork=false", true},
                    SelectorCase{"EscapedComma", "spec.schedulerName=a\\,b", true}),
    [](const auto& row) { return row.param.name; });

TEST(Fields, UnknownFieldsAreRejectedWithKubernetesText) {
  EXPECT_EQ(FieldSelector::Parse(Known().pods, "spec.foo=x").error().message,
            "field label not supported: spec.foo");
  EXPECT_EQ(FieldSelector::Parse(Known().priority_classes, "spec.foo=x").error().message,
            "\"spec.foo\" is not a known field selector: only \"metadata.name\"");
  EXPECT_EQ(FieldSelector::Parse(Known().pods, "a>b").error().message,
            "invalid selector: 'a>b'; can't understand 'a>b'");
}

TEST(Fields, EventFieldsHaveOtherNamesInEventsK8sIo) {
  EXPECT_TRUE(FieldSelector::Parse(Known().events, "regarding.name=x", true).has_value());
  EXPECT_FALSE(FieldSelector::Parse(Known().events, "regarding.name=x", false).has_value());
}

}  // namespace
}  // namespace berth::sandbox
