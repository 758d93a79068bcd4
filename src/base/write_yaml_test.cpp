#include "base/write_yaml.hpp"

#include <gtest/gtest.h>

#include <string>

namespace berth::yaml {
namespace {

struct ScalarCase {
  std::string text;
  std::string yaml;
};
class ATextInYaml : public testing::TestWithParam<ScalarCase> {};
TEST_P(ATextInYaml, IsQuotedIfItWouldBeReadAsAnotherType) {
  EXPECT_EQ(ToYaml(Value::Text(GetParam().text)), GetParam().yaml + "\n");
  EXPECT_EQ(ParseValue(ToYaml(Value::Text(GetParam().text)))->text, GetParam().text);
}
INSTANTIATE_TEST_SUITE_P(
    Table, ATextInYaml,
    testing::Values(ScalarCase{"plain", "plain"}, ScalarCase{"", "\"\""}, ScalarCase{"yes", "\"yes\""},
                    ScalarCase{"yesterday", "yesterday"}, ScalarCase{"true", "\"true\""},
                    ScalarCase{"5", "\"5\""}, ScalarCase{"-1", "\"-1\""}, ScalarCase{"1.37", "\"1.37\""},
                    ScalarCase{"1.37.1", "1.37.1"}, ScalarCase{"1e3", "\"1e3\""},
                    ScalarCase{"0x1f", "\"0x1f\""}, ScalarCase{"5m0s", "5m0s"},
                    ScalarCase{"127.0.0.1", "127.0.0.1"}, ScalarCase{"1:30", "\"1:30\""},
                    ScalarCase{"2026-11-23T10:00:00Z", "\"2026-11-23T10:00:00Z\""}, ScalarCase{"a b", "a b"},
                    ScalarCase{"a: b", "'a: b'"}, ScalarCase{"a:b", "a:b"}, ScalarCase{"#a", "'#a'"},
                    ScalarCase{"[a,b]", "'[a,b]'"}, ScalarCase{"-", "'-'"}, ScalarCase{"-x", "-x"},
                    ScalarCase{"/healthz", "/healthz"}, ScalarCase{"it's", "it's"}, ScalarCase{"'", "''''"},
                    ScalarCase{"'x'", "'''x'''"}, ScalarCase{"a\tb", "\"a\\tb\""}));

TEST(Yaml, ListsAreNotIndented) {
  const auto value = ParseValue("{b: [{x: 1, a: []}, [2, {}]], a: {}}").value();
  EXPECT_EQ(ToYaml(value), "a: {}\nb:\n- a: []\n  x: 1\n- - 2\n  - {}\n");
  EXPECT_EQ(ToJson(value), R"({"a":{},"b":[{"a":[],"x":1},[2,{}]]})");
}

TEST(Yaml, TextsOfSeveralLinesAreLiteralBlocks) {
  Value value = Value::Map();
  value.Set("a", Value::Text("b\nc"));
  EXPECT_EQ(ToYaml(value), "a: |-\n  b\n  c\n");
}

}  // namespace
}  // namespace berth::yaml
