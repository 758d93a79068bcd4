#include "cel/cel.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace berth::cel {
namespace {

Environment TestEnvironment() {
  Environment environment;
  environment.AddVariable("n", IntType());
  environment.AddVariable("s", StringType());
  environment.AddVariable("d", DynType());
  return environment;
}

struct Result {
  std::string text;  // the value, or "error: ..."
  std::uint64_t cost = 0;
  std::uint64_t effort = 0;
};

Result Evaluated(std::string_view expression, const EvaluationOptions& options = {}) {
  static const Environment environment = TestEnvironment();
  CompileError error;
  const auto program = environment.Compile(expression, error);
  if (!program) return {(error.phase == CompileError::Phase::kPlan ? "plan: " : "compile: ") + error.message};
  const Value variables[] = {Value::Int(5), Value::String("text"),
                             Value::Map({{Value::String("a"), Value::Int(1)}})};
  const Evaluation evaluation = program->Evaluate(variables, options);
  return {evaluation.value.IsError() ? "error: " + evaluation.value.text() : FormatValue(evaluation.value),
          evaluation.cost, evaluation.effort};
}

struct Case {
  const char* name;
  const char* expression;
  const char* result;
};

class Expressions : public testing::TestWithParam<Case> {};

TEST_P(Expressions, HaveTheResultOfCelGo) {
  EXPECT_EQ(Evaluated(GetParam().expression).text, GetParam().result);
}

std::string NameOf(const testing::TestParamInfo<Case>& info) {
  std::string name;
  for (const char* c = info.param.name; *c != '\0'; ++c) name += std::isalnum(*c) ? *c : '_';
  return name;
}

constexpr Case kLanguage[] = {
    {"one minus before a number belongs to the number", "-9223372036854775808", "-9223372036854775808"},
    {"two minuses cancel each other", "--5", "5"},
    {"multiplication binds more than addition", "1 + 2 * 3", "7"},
    {"comparisons associate to the left", "1 < 2 == true", "true"},
    {"raw strings keep backslashes", R"(r'\d' == '\\d')", "true"},
    {"bytes have octal and hexadecimal escapes", R"(b'\x41\101')", R"(b"\101\101")"},
    {"a field name may be quoted", "{'a-b': 1}.`a-b`", "1"},
    {"numbers of different types compare by value", "[1 < 1.5, 2u >= 2, 1u == dyn(1.0)]",
     "[true, true, true]"},
    {"map keys of different numeric types are found", "{1: 'a'}[dyn(1.0)]", "\"a\""},
    {"or absorbs the error of the other operand", "1 / 0 == 1 || true", "true"},
    {"or reports the first error", "1 / 0 == 1 || 2 % 0 == 1 || false", "error: division by zero"},
    {"a condition evaluates one branch", "true ? 1 : 1 / 0", "1"},
    {"has tests the presence of a key", "[has({'a': 1}.a), has({'a': 1}.b)]", "[true, false]"},
    {"exists ends at the first match", "[1, 0].exists(x, 1 / x == 1)", "true"},
    {"all absorbs errors if an element is false", "[0, 2].all(x, 1 / x == 1)", "false"},
    {"exists_one reports errors", "[0].exists_one(x, 1 / x == 1)", "error: division by zero"},
    {"map and filter build lists", "[1, 2, 3].filter(x, x > 1).map(x, x * n)", "[10, 15]"},
    {"comprehensions may have two variables", "['a', 'b'].transformMap(i, v, v + string(i))",
     R"({0: "a0", 1: "b1"})"},
    {"an inner variable hides an outer one", "[1].map(n, n + 1)", "[2]"},
    {"a leading dot names the outer variable", "[1].map(n, .n + n)", "[6]"},
    {"bind evaluates its value lazily", "cel.bind(x, 1 / 0, 2)", "2"},
    {"optional selection of a missing key is empty", "{'a': 1}.?b", "optional.none()"},
    {"optional values continue a path", "d.?a.orValue(0) + d.?b.orValue(10)", "11"},
    {"optional entries are left out", "{'a': 1, ?'b': optional.none(), ?'c': optional.of(2)}",
     R"({"a": 1, "c": 2})"},
    {"an unknown key is an error", "d.b", "error: no such key: b"},
    {"an index outside of a list is an error", "[1][n]", "error: index out of bounds: 5"},
    {"sums that overflow are errors", "9223372036854775807 + 1", "error: integer overflow"},
    {"times and durations add", "timestamp('2024-02-28T23:00:00Z') + duration('90m')",
     R"(timestamp("2024-02-29T00:30:00Z"))"},
    {"dates have time zones", "timestamp('2024-01-01T00:00:00Z').getFullYear('-01:00')", "2023"},
    {"wrong types of dynamic operands are errors", "d + 1", "error: no such overload: _+_"},
};
INSTANTIATE_TEST_SUITE_P(Language, Expressions, testing::ValuesIn(kLanguage), NameOf);

constexpr Case kLibraries[] = {
    {"format prints values of all kinds", "'%s %d %.2f %x %e'.format([[1u, 2u], 5, 1234.5, 'hi', 1.5])",
     "\"[1, 2] 5 1,234.50 6869 1.500000\xc3\x97"
     "10\xe2\x81\xb0\xe2\x81\xb0\""},
    {"strings are cut by code points", "'\u00e9t\u00e9'.substring(1, 3)", "\"t\u00e9\""},
    {"an empty pattern is replaced everywhere", "'ab'.replace('', '-')", "\"-a-b-\""},
    {"findAll skips empty matches behind others", "'abaab'.findAll('a*')", R"(["a", "aa", ""])"},
    {"matches searches anywhere", "'xabc'.matches('a.c')", "true"},
    {"a class of names contains other characters as they are",
     "['7', '(', '<', 'P'].map(c, c.matches('[[:digit:](?<a]'))", "[true, true, true, false]"},
    {"a wrong pattern in a literal does not compile", "'x'.find('(')",
     "plan: error parsing regexp: missing closing ): `(`"},
    {"sort is stable and typed", "[3, 1, 2].sort() + [1, 2].reverse()", "[1, 2, 3, 2, 1]"},
    {"sortBy evaluates a key", "['bb', 'a'].sortBy(x, x.size())", R"(["a", "bb"])"},
    {"sets ignore order and repetition", "sets.equivalent([1, 2, 2], [2, 1])", "true"},
    {"addresses are compared by value",
     "ip('::1') == ip('0:0::1') && cidr('10.0.0.0/8').containsIP('10.1.2.3')", "true"},
    {"mapped addresses are rejected", "ip('::ffff:1.2.3.4')",
     R"(error: IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed)"},
    {"urls have parts", "url('https://u:p@h:80/a%20b?x=1&x=2').getQuery()", R"({"x": ["1", "2"]})"},
    {"versions have precedence",
     "semver('1.0.0-rc.2').isLessThan(semver('1.0.0')) && semver('v1', true).major() == 1", "true"},
    {"formats give reasons", "format.dns1123Label().validate('a.b').value()", R"(["must not contain dots"])"},
    {"min of an empty list is an error", "[1].filter(x, false).min()", "error: min called on empty list"},
};
INSTANTIATE_TEST_SUITE_P(Libraries, Expressions, testing::ValuesIn(kLibraries), NameOf);

constexpr Case kCompileErrors[] = {
    {"an undeclared name has its position", "1 + x",
     "compile: ERROR: <input>:1:5: undeclared reference to 'x' (in container '')\n | 1 + x\n | ....^"},
    {"no overload fits", "1 + 'a'",
     "compile: ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'\n | 1 + "
     "'a'\n | ..^"},
    {"errors are ordered by position", "x ||\n y",
     "compile: ERROR: <input>:1:1: undeclared reference to 'x' (in container '')\n | x ||\n | ^\n"
     "ERROR: <input>:2:2: undeclared reference to 'y' (in container '')\n |  y\n | .^"},
    {"wide characters have wide marks", "'\u65e5' + x",
     "compile: ERROR: <input>:1:7: undeclared reference to 'x' (in container '')\n | '\u65e5' + x\n | "
     ".\uff0e....^"},
    {"reserved words are no variables", "while",
     "compile: ERROR: <input>:1:1: reserved identifier: while\n | while\n | ^"},
    {"lists have one type", "[1, 'a']",
     "compile: ERROR: <input>:1:5: expected type 'int' but found 'string'\n | [1, 'a']\n | ....^"},
    {"literals of durations are checked", "duration('x')",
     "compile: ERROR: <input>:1:10: invalid duration argument\n | duration('x')\n | .........^"},
    {"format strings are checked", "'%d'.format(['a'])",
     "compile: ERROR: <input>:1:14: error during formatting: decimal clause can only be used on integers, "
     "was given "
     "string\n | '%d'.format(['a'])\n | .............^"},
    {"macros need names", "[1].map(1, 2)",
     "compile: ERROR: <input>:1:9: argument is not an identifier\n | [1].map(1, 2)\n | ........^"},
    {"messages are unknown", "google.protobuf.Int64Value{value: 1}",
     "compile: ERROR: <input>:1:27: undeclared reference to 'google.protobuf.Int64Value' (in container '')\n"
     " | google.protobuf.Int64Value{value: 1}\n | ..........................^"},
};
INSTANTIATE_TEST_SUITE_P(CompileErrors, Expressions, testing::ValuesIn(kCompileErrors), NameOf);

TEST(Cost, IsCelGos) {
  struct Row {
    const char* expression;
    std::uint64_t cost;
  };
  for (const Row& row : {Row{"1 + 2", 1}, Row{"s == 'text'", 2}, Row{"s.startsWith('x') || n > 3", 4},
                         Row{"[1, 2, 3].map(x, x * 2)", 43}, Row{"has(d.a)", 1}, Row{"'abc'.find('b')", 1},
                         Row{"{'a': n}.a == 5", 34}}) {
    EXPECT_EQ(Evaluated(row.expression).cost, row.cost) << row.expression;
  }
}

constexpr const char* kTooExpensive = "error: operation cancelled: actual cost limit exceeded";

TEST(Limits, AnEvaluationEndsAtItsCostLimit) {
  EvaluationOptions options;
  options.cost_limit = 42;
  EXPECT_EQ(Evaluated("[1, 2, 3].map(x, x * 2)", options).text, kTooExpensive);
  options.cost_limit = 43;
  EXPECT_EQ(Evaluated("[1, 2, 3].map(x, x * 2)", options).text, "[2, 4, 6]");
}

// Each expression costs little, and would take cel-go years or all of the memory.
TEST(Limits, WorkWithoutCostIsBounded) {
  std::string doubled = "b40.all(x, x > 0)";
  std::string compared = "b40 == b40";
  for (int i = 40; i > 0; --i) {
    doubled = fmt::format("cel.bind(b{}, b{} + b{}, {})", i, i - 1, i - 1, doubled);
    compared = fmt::format("cel.bind(b{}, [b{}, b{}], {})", i, i - 1, i - 1, compared);
  }
  EXPECT_EQ(Evaluated("cel.bind(b0, [1, 2], " + doubled + ")").text, kTooExpensive);
  EXPECT_EQ(Evaluated("cel.bind(b0, n, " + compared + ")").text, kTooExpensive);
  EXPECT_EQ(
      Evaluated("['a'].map(x, x.replace('', 'aaaaaaaaaa')).map(x, x.replace('', x)).map(x, x.replace('', x))"
                ".map(x, x.replace('', x)).map(x, x.replace('', x)).map(x, x.replace('', x)).size() > 0")
          .text,
      kTooExpensive);
  EXPECT_EQ(Evaluated("'%.2000000000f'.format([1.5]).size() > 0").text, kTooExpensive);
  EXPECT_EQ(Evaluated("lists.range(80000).all(x, lists.range(10000).filter(y, false).size() == 0)").text,
            kTooExpensive);
}

TEST(Limits, AMatchIsWorkInProportionToThePattern) {
  const std::string matches =
      fmt::format("'{}'.matches('^([a-z]{{1,100}}){{1,10}}!')", std::string(10'000, 'a'));
  EXPECT_EQ(Evaluated(matches).text, "false");
  EXPECT_EQ(Evaluated("[1, 2, 3, 4, 5, 6, 7, 8].exists(x, " + matches + ")").text, kTooExpensive);
}

TEST(Limits, SearchingBehindEveryMatchIsWork) {
  const auto found = [](int size) {
    return fmt::format("'{}'.findAll('a.*b|a').size()", std::string(size, 'a'));
  };
  EXPECT_EQ(Evaluated(found(1000)).text, "1000");
  EXPECT_EQ(Evaluated(found(20'000)).text, kTooExpensive);
}

TEST(Limits, CompilingPatternsIsWork) {
  const auto compiled = [](int patterns) {
    return fmt::format("lists.range({}).exists(x, s.matches({}))", patterns,
                       "'^([a-z]{1,' + string(x % 90 + 1) + '}){1,10}!'");
  };
  EXPECT_EQ(Evaluated(compiled(10)).text, "false");
  EXPECT_EQ(Evaluated(compiled(1000)).text, kTooExpensive);
}

TEST(Limits, PatternsMayCountTheLettersOfAllAlphabets) {
  EXPECT_EQ(Evaluated(R"(s.matches('^\\pL{1,63}$'))").text, "true");
}

TEST(Limits, TheConstantPatternsOfAnExpressionAreBounded) {
  std::string expression = "false";
  for (int i = 0; i < 5; ++i) expression += R"( || s.matches('^\\pL{1,63}!'))";
  EXPECT_EQ(Evaluated(expression).text, R"(plan: error parsing regexp: expression too large: `^\pL{1,63}!`)");
}

TEST(Limits, MacrosThatCopyTheirTargetAreBounded) {
  const auto nested = [](int depth) {
    std::string expression = "optional.of(1)";
    for (int i = 0; i < depth; ++i) expression += ".optMap(x, x)";
    return expression + ".orValue(0)";
  };
  EXPECT_EQ(Evaluated(nested(5)).text, "1");
  EXPECT_NE(Evaluated(nested(14)).text.find("expression too large after macro expansion"), std::string::npos);
}

TEST(Effort, CountsElementsThatAreComparedDeeply) {
  const Result result =
      Evaluated("cel.bind(a, lists.range(10000), cel.bind(b, [a, a, a, a, a, a, a, a], b == b))");
  EXPECT_EQ(result.text, "true");
  EXPECT_GT(result.effort, result.cost * 3 / 2);
}

TEST(Effort, IsTheCostOfOrdinaryExpressions) {
  const Result result = Evaluated("s.startsWith('t') && d.a == 1 && s.matches('^t[a-z]+$')");
  EXPECT_EQ(result.text, "true");
  EXPECT_EQ(result.effort, result.cost);
}

TEST(Programs, OutliveTheirEnvironment) {
  CompileError error;
  const auto program = Environment().Compile("size('abc') + [1, 2].map(x, x * 2)[1]", error);
  ASSERT_TRUE(program);
  EXPECT_EQ(program->Evaluate({}, {}).value.as_int(), 7);
}

TEST(Environments, ThatAreCopiedDoNotShareLaterFunctions) {
  const Environment original;
  Environment copy = original;
  const auto one = [](CallContext&, Arguments) { return Value::Int(1); };
  copy.functions().AddGlobal("size", "size_of_nothing", {}, IntType(), one);
  CompileError error;
  EXPECT_TRUE(copy.Compile("size() == 1", error));
  EXPECT_FALSE(original.Compile("size() == 1", error));
}

TEST(Limits, NestingIsBounded) {
  const auto nested = [](int depth) { return std::string(depth, '(') + "1" + std::string(depth, ')'); };
  EXPECT_EQ(Evaluated(nested(249)).text, "1");
  EXPECT_EQ(Evaluated(nested(250)).text,
            "compile: ERROR: <input>:-1:0: expression recursion limit exceeded: 250");
  std::string path = "d";
  for (int i = 0; i < 250; ++i) path += ".a";
  EXPECT_EQ(Evaluated(path).text, "compile: ERROR: <input>:-1:0: expression recursion limit exceeded: 250");
}

TEST(Limits, TypesAreBounded) {
  std::string expression = "1";
  for (int i = 0; i < 30; ++i) expression = fmt::format("cel.bind(x, {}, {{x: x}})", expression);
  EXPECT_TRUE(Evaluated(expression)
                  .text.starts_with("compile: ERROR: <input>:1:472: type of the expression is too complex"));
}

// Each variable is a map of the next one to itself.
TEST(Limits, TypesOfVariablesAreBounded) {
  std::string expression = "true";
  for (int i = 1; i < 60; ++i) expression += fmt::format(" && [a{}] + [{{a{}: a{}}}] == []", i, i + 1, i + 1);
  for (int i = 60; i > 0; --i) expression = fmt::format("[].all(a{}, {})", i, expression);
  const std::string text = Evaluated(expression).text;
  EXPECT_NE(text.find("type of the expression is too complex"), std::string::npos) << text;
}

TEST(Limits, LongExpressionsDoNotCompile) {
  Environment environment;
  environment.set_size_limit(5);
  CompileError error;
  EXPECT_FALSE(environment.Compile("1 + 22", error));
  EXPECT_EQ(error.message, "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 6, limit 5");
  EXPECT_TRUE(environment.Compile("1 + 2", error));
}

TEST(Limits, TheCallerInterruptsComprehensions) {
  EvaluationOptions options;
  int calls = 0;
  options.interrupted = [&] { return ++calls == 3; };
  EXPECT_EQ(Evaluated("lists.range(1000).all(x, x >= 0)", options).text, "error: operation interrupted");
  EXPECT_EQ(calls, 3);
  calls = 10;
  EXPECT_EQ(Evaluated("lists.range(1000).all(x, x >= 0)", options).text, "true");
}

TEST(Values, NestedTooDeeplyAreErrors) {
  Value value = Value::Int(1);
  for (int i = 0; i < kMaxValueDepth; ++i) value = Value::List({value});
  EXPECT_FALSE(value.IsError());
  EXPECT_TRUE(Value::List({value}).IsError());
}

// The variable grows in place, as in cel-go, which runs out of stack.
TEST(Values, ListsDoNotContainThemselves) {
  for (const char* expression :
       {"cel.bind(x, dyn([]), [x + [x]] == [x])", "optional.of(dyn([])).optMap(x, x + [x])",
        "cel.bind(x, dyn([]), cel.bind(y, dyn([]), size(x + [{'a': y}]) + size(y + [optional.of(x)])))",
        "cel.bind(y, cel.bind(x, dyn([]), [x]), y[0] + [y])"})
    EXPECT_EQ(Evaluated(expression).text, "error: values are nested too deeply") << expression;
  EXPECT_EQ(Evaluated("cel.bind(x, dyn([]), x + [dyn([1])] + ([dyn(2)] + x))").text, "[[1], 2, [1]]");
}

TEST(Values, LargeMapsFindTheirKeys) {
  Value map = Value::Map({});
  for (int i = 0; i < 1000; ++i) map.mutable_map().Set(Value::Int(i), Value::Int(i * 2));
  for (int i = 0; i < 1000; i += 7) {
    ASSERT_NE(map.map().Find(Value::Uint(static_cast<std::uint64_t>(i))), nullptr);
    EXPECT_EQ(map.map().Find(Value::Double(i))->as_int(), i * 2);
  }
  EXPECT_EQ(map.map().Find(Value::Int(1000)), nullptr);
  map.mutable_map().Erase(Value::Int(7));
  EXPECT_EQ(map.map().Find(Value::Int(7)), nullptr);
  EXPECT_NE(map.map().Find(Value::Int(999)), nullptr);
}

}  // namespace
}  // namespace berth::cel
