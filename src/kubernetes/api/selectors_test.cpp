#include "kubernetes/api/selectors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kubernetes/api/label_selector_text.hpp"

namespace berth::api {
namespace {

using ::testing::ElementsAre;

// --- what matches ---
struct MatchCase {
  std::string name;
  NodeSelectorRequirement requirement;
  std::optional<std::string> label;
  bool matches;
};
class ARequirement : public ::testing::TestWithParam<MatchCase> {};
TEST_P(ARequirement, MatchesPresentAndAbsentLabels) {
  std::vector<std::string> errors;
  const auto parsed = ParseNodeRequirement(GetParam().requirement, "t", &errors);
  ASSERT_TRUE(parsed) << JoinErrors(errors);
  EXPECT_EQ(parsed->Matches(GetParam().label ? &*GetParam().label : nullptr), GetParam().matches);
}
INSTANTIATE_TEST_SUITE_P(
    Table, ARequirement,
    ::testing::Values(MatchCase{"InRequiresOneOfTheValues", {"k", "In", {"a", "b"}}, "b", true},
                      MatchCase{"InRefusesOtherValues", {"k", "In", {"a", "b"}}, "c", false},
                      MatchCase{"InRefusesAbsence", {"k", "In", {"a"}}, {}, false},
                      MatchCase{"InOfTheEmptyTextRequiresAnEmptyLabel", {"k", "In", {""}}, "", true},
                      MatchCase{"InOfTheEmptyTextRefusesAbsence", {"k", "In", {""}}, {}, false},
                      MatchCase{"NotInRefusesItsValues", {"k", "NotIn", {"a"}}, "a", false},
                      MatchCase{"NotInTakesOtherValues", {"k", "NotIn", {"a"}}, "b", true},
                      MatchCase{"NotInTakesAbsence", {"k", "NotIn", {"a"}}, {}, true},
                      MatchCase{"ExistsTakesAnyValue", {"k", "Exists", {}}, "", true},
                      MatchCase{"ExistsRefusesAbsence", {"k", "Exists", {}}, {}, false},
                      MatchCase{"DoesNotExistTakesAbsence", {"k", "DoesNotExist", {}}, {}, true},
                      MatchCase{"DoesNotExistRefusesAnyValue", {"k", "DoesNotExist", {}}, "", false},
                      MatchCase{"GtIsStrict", {"k", "Gt", {"5"}}, "5", false},
                      MatchCase{"GtTakesMore", {"k", "Gt", {"5"}}, "6", true},
                      MatchCase{"GtComparesNumbersNotTexts", {"k", "Gt", {"9"}}, "10", true},
                      MatchCase{"GtReadsLeadingZeros", {"k", "Gt", {"007"}}, "8", true},
                      MatchCase{"GtReadsSignsOfLabels", {"k", "Gt", {"1"}}, "+2", true},
                      MatchCase{"GtRefusesTextsThatAreNoNumbers", {"k", "Gt", {"1"}}, "many", false},
                      MatchCase{
                          "GtRefusesNumbersBeyondInt64", {"k", "Gt", {"1"}}, "9223372036854775808", false},
                      MatchCase{"GtRefusesAbsence", {"k", "Gt", {"1"}}, {}, false},
                      MatchCase{"LtIsStrict", {"k", "Lt", {"5"}}, "5", false},
                      MatchCase{"LtTakesLess", {"k", "Lt", {"5"}}, "-7", true},
                      MatchCase{"LtRefusesAbsence", {"k", "Lt", {"5"}}, {}, false}),
    [](const auto& row) { return row.param.name; });

TEST(LabelAsInteger, AcceptsOnlyBaseTen) {
  EXPECT_EQ(LabelAsInteger("007"), 7);
  EXPECT_EQ(LabelAsInteger("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(LabelAsInteger("+1"), 1);
  for (const auto* text :
       {"", "+", "-", "+-1", "--1", "1.0", "0x1", " 1", "1 ", "1e3", "9223372036854775808"}) {
    EXPECT_EQ(LabelAsInteger(text), std::nullopt) << text;
  }
}

// --- what is refused, and how ---
constexpr const char* kBadValue =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end "
    "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation "
    "is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
constexpr const char* kBadName =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

struct InvalidRequirementCase {
  std::string name;
  NodeSelectorRequirement requirement;
  std::vector<std::string> errors;
};
class AnInvalidRequirement : public ::testing::TestWithParam<InvalidRequirementCase> {};
TEST_P(AnInvalidRequirement, IsReportedWithTheTextsOfKubernetes) {
  std::vector<std::string> errors;
  EXPECT_FALSE(ParseNodeRequirement(GetParam().requirement, "e[0]", &errors));
  EXPECT_EQ(errors, GetParam().errors);
  EXPECT_FALSE(ParseNodeRequirement(GetParam().requirement, "e[0]", nullptr));
}
INSTANTIATE_TEST_SUITE_P(
    Table, AnInvalidRequirement,
    ::testing::Values(
        InvalidRequirementCase{
            "UnknownOperator",
            {"k", "Near", {"a"}},
            {"e[0].operator: Unsupported value: \"Near\": supported values: \"In\", \"NotIn\", \"Exists\", "
             "\"DoesNotExist\", \"Gt\", \"Lt\""}},
        InvalidRequirementCase{
            "InWithoutValues",
            {"k", "In", {}},
            {"e[0].values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"}},
        InvalidRequirementCase{
            "ExistsWithValues",
            {"k", "Exists", {"a", "b"}},
            {"e[0].values: Invalid value: [\"a\",\"b\"]: values set must be empty for exists and "
             "does not exist"}},
        InvalidRequirementCase{
            "GtWithTwoValues",
            {"k", "Gt", {"1", "2"}},
            {"e[0].values: Invalid value: [\"1\",\"2\"]: for 'Gt', 'Lt' operators, exactly one value "
             "is required"}},
        InvalidRequirementCase{
            "GtWithoutANumber",
            {"k", "Gt", {"many"}},
            {"e[0].values[0]: Invalid value: \"many\": for 'Gt', 'Lt' operators, the value must be "
             "an integer"}},
        InvalidRequirementCase{"GtWithASignWhichNoLabelValueMayBeginWith",
                               {"k", "Gt", {"-5"}},
                               {std::string("e[0].values[0][k]: Invalid value: \"-5\": ") + kBadValue}},
        InvalidRequirementCase{"ValueThatIsNoLabelValue",
                               {"k", "In", {"ok", "no way"}},
                               {std::string("e[0].values[1][k]: Invalid value: \"no way\": ") + kBadValue}},
        InvalidRequirementCase{
            "EmptyKey",
            {"", "Exists", {}},
            {std::string("e[0].key: Invalid value: \"\": name part must be non-empty; ") + kBadName}},
        InvalidRequirementCase{
            "SeveralMistakesInTheirOrder",
            {"a b", "Exists", {"?"}},
            {std::string("e[0].key: Invalid value: \"a b\": ") + kBadName,
             "e[0].values: Invalid value: [\"?\"]: values set must be empty for exists and does not exist",
             std::string("e[0].values[0][a b]: Invalid value: \"?\": ") + kBadValue}}),
    [](const auto& row) { return row.param.name; });

TEST(AFieldRequirement, AcceptsInAndNotInWithExactlyOneValue) {
  EXPECT_TRUE(ParseFieldRequirement({"metadata.name", "In", {"n1"}}, "f", nullptr));
  EXPECT_TRUE(ParseFieldRequirement({"metadata.name", "NotIn", {"any text at all"}}, "f", nullptr));
  std::vector<std::string> errors;
  EXPECT_FALSE(ParseFieldRequirement({"metadata.name", "Exists", {}}, "f", &errors));
  EXPECT_FALSE(ParseFieldRequirement({"metadata.name", "In", {"a", "b"}}, "f", &errors));
  EXPECT_FALSE(ParseFieldRequirement({"metadata.name", "In", {}}, "f", &errors));
  EXPECT_THAT(errors,
              ElementsAre("f.operator: Unsupported value: \"Exists\": supported values: \"In\", \"NotIn\"",
                          "f.values: Invalid value: [\"a\",\"b\"]: must have one element",
                          "f.values: Invalid value: null: must have one element"));
}

TEST(JoinErrors, RemovesDuplicatesAndBracketsSeveral) {
  EXPECT_EQ(JoinErrors({}), "");
  EXPECT_EQ(JoinErrors({"a"}), "a");
  EXPECT_EQ(JoinErrors({"a", "a"}), "a");
  EXPECT_EQ(JoinErrors({"a", "b", "a"}), "[a, b]");
}

TEST(LabelValue, HasAtMost63Bytes) {
  EXPECT_EQ(CheckLabelValue(std::string(63, 'a')), "");
  EXPECT_EQ(CheckLabelValue(std::string(64, 'a')), "must be no more than 63 bytes");
  for (const auto* fine : {"", "a", "A-b_c.9"}) EXPECT_EQ(CheckLabelValue(fine), "") << fine;
  for (const auto* wrong : {"-", "a-", ".a", "a b", "ä", "a/b"})
    EXPECT_EQ(CheckLabelValue(wrong), kBadValue) << wrong;
}

TEST(LabelKey, MayHaveAPrefix) {
  for (const auto* fine : {"a", "example.com/a", "a.b-c.d/E_f.g"}) EXPECT_EQ(CheckLabelKey(fine), "") << fine;
  EXPECT_EQ(CheckLabelKey("/a"), "prefix part must be non-empty");
  EXPECT_EQ(CheckLabelKey("x/" + std::string(64, 'a')), "name part must be no more than 63 bytes");
  EXPECT_EQ(CheckLabelKey(std::string(254, 'a') + "/x"), "prefix part must be no more than 253 bytes");
  EXPECT_EQ(
      CheckLabelKey("Example.com/a"),
      "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
      "'.', and "
      "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
      "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
  EXPECT_THAT(CheckLabelKey("a/b/c"),
              ::testing::StartsWith("a valid label key must consist of alphanumeric characters"));
}

// --- taints ---
struct TolerationCase {
  std::string name;
  Toleration toleration;
  Taint taint;
  bool tolerates;
};
class AToleration : public ::testing::TestWithParam<TolerationCase> {};
TEST_P(AToleration, MatchesTaints) {
  EXPECT_EQ(Tolerates(GetParam().toleration, GetParam().taint), GetParam().tolerates);
}
INSTANTIATE_TEST_SUITE_P(
    Table, AToleration,
    ::testing::Values(
        TolerationCase{
            "ExistsWithoutKeyCoversEverything", {"", "Exists", "", ""}, {"k", "v", "NoExecute"}, true},
        TolerationCase{
            "ExistsCoversEveryValueOfItsKey", {"k", "Exists", "", ""}, {"k", "v", "NoSchedule"}, true},
        TolerationCase{
            "ExistsDoesNotCoverOtherKeys", {"k", "Exists", "", ""}, {"l", "v", "NoSchedule"}, false},
        TolerationCase{
            "AnEffectCoversOnlyItself", {"k", "Exists", "", "NoExecute"}, {"k", "v", "NoSchedule"}, false},
        TolerationCase{"NoOperatorMeansEqual", {"k", "", "v", ""}, {"k", "v", "NoSchedule"}, true},
        TolerationCase{"EqualRequiresTheValue", {"k", "Equal", "w", ""}, {"k", "v", "NoSchedule"}, false},
        TolerationCase{"EmptyEqualsEmpty", {"k", "Equal", "", ""}, {"k", "", "NoSchedule"}, true},
        TolerationCase{
            "EqualWithoutKeyComparesValuesOnly", {"", "Equal", "v", ""}, {"k", "v", "NoSchedule"}, true},
        TolerationCase{
            "TheComparisonOperatorsAreOff", {"k", "Lt", "10", ""}, {"k", "5", "NoSchedule"}, false}),
    [](const auto& row) { return row.param.name; });

TEST(ATaint, WithNoScheduleOrNoExecuteStopsScheduling) {
  EXPECT_TRUE(TaintStopsScheduling({"k", "", "NoSchedule"}));
  EXPECT_TRUE(TaintStopsScheduling({"k", "", "NoExecute"}));
  EXPECT_FALSE(TaintStopsScheduling({"k", "", "PreferNoSchedule"}));
  EXPECT_FALSE(TaintStopsScheduling({"k", "", ""}));
}

// --- selectors as text ---
TEST(LabelSelectorText, IsParsedAndWritten) {
  for (const std::string_view text : {"", "a=b", "a in (b,c),d notin (e,f),g,!h", "i>3,j<4", "k="}) {
    const auto parsed = ParseLabelSelectorText(text);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(LabelSelectorText(*parsed), text);
  }
  EXPECT_EQ(LabelSelectorText(*ParseLabelSelectorText(" a == b , c in( d , e ) , f != g ")),
            "a=b,c in (d,e),f notin (g)");
  EXPECT_TRUE(ParseLabelSelectorText("")->everything());
}

TEST(LabelSelectorText, ErrorsAreThoseOfApimachinery) {
  const auto error = [](std::string_view text) { return ParseLabelSelectorText(text).error().message; };
  EXPECT_EQ(error("a b"), "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt");
  EXPECT_EQ(error("a in (b"), "unable to parse requirement: found '', expected: ',' or ')'");
  EXPECT_EQ(error("a,"), "unable to parse requirement: found '', expected: identifier after ','");
  EXPECT_EQ(error("a>x"),
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the "
            "value must "
            "be an integer");
  EXPECT_EQ(
      error("a=-x-"),
      "unable to parse requirement: values[0][a]: Invalid value: \"-x-\": a valid label must be an empty "
      "string "
      "or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
      "character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
      "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')");
}

}  // namespace
}  // namespace berth::api
