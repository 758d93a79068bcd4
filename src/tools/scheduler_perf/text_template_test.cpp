#include "tools/scheduler_perf/text_template.hpp"

#include <gtest/gtest.h>

namespace berth::scheduler_perf {
namespace {

struct TemplateCase {
  std::string sentence;
  std::string text;
  std::string data;    // YAML
  std::string result;  // or the error
};

std::string Executed(const TemplateCase& c) {
  const auto parsed = TextTemplate::Parse(c.text);
  if (!parsed) return parsed.error().message;
  const auto data = yaml::ParseValue(c.data.empty() ? "{}" : c.data);
  if (!data) return data.error().message;
  const auto text = parsed->Execute(*data, 7, 10);
  return text ? *text : text.error().message;
}

TEST(TextTemplate, IsFilledAsGoFillsIt) {
  const TemplateCase cases[] = {
      {"a text stays", "a: 1\n", "", "a: 1\n"},
      {"index and count are whole numbers", "{{.Index}} of {{ .Count }}", "", "7 of 10"},
      {"a parameter", "{{.name}}", "name: x", "x"},
      {"a number of the data has a float's form", "{{.num}} {{.m}}", "{num: 1000000, m: 20}", "1e+06 20"},
      {"a large number as a whole one", "{{AddInt 0 .num}}", "num: 9999999", "9999999"},
      {"a fraction", "{{.num}}", "num: 0.25", "0.25"},
      {"a missing parameter", "{{.none}}", "", "<no value>"},
      {"the first true value", "{{or .num 2}} {{or .none 2}}", "num: 5", "5 2"},
      {"a variable", "{{$n := or .num 2}}{{$n}}{{$n = 3}}{{$n}}", "", "23"},
      {"a pipeline", "{{(or .num \"4\") | Int}}", "", "4"},
      {"arguments before the value of a pipeline", "{{2 | DivideInt 9}}", "", "4"},
      {"if and else", "{{if .a}}x{{else}}y{{end}}", "", "y"},
      {"else if", "{{if .a}}x{{else if eq .b \"c\"}}y{{else}}z{{end}}", "b: c", "y"},
      {"a missing value is not equal to a text", "{{if eq .a \"c\"}}x{{else}}y{{end}}", "", "y"},
      {"zero is false", "{{if .a}}x{{else}}y{{end}}", "a: 0", "y"},
      {"a range over a number", "{{range $i := 3}}{{$i}}{{.}},{{end}}", "", "00,11,22,"},
      {"a range over a list", "{{range $i, $e := .l}}{{$i}}{{$e}},{{end}}", "l: [a, b]", "0a,1b,"},
      {"a range over a map is sorted", "{{range $k, $v := .m}}{{$k}}{{$v}},{{end}}", "m: {b: 1, a: 2}",
       "a2,b1,"},
      {"an empty range", "{{range .l}}x{{else}}none{{end}}", "l: []", "none"},
      {"the root within a range", "{{range 2}}{{$.name}}{{end}}", "name: x", "xx"},
      {"a variable of a block ends with it", "{{$a := 1}}{{if true}}{{$a := 2}}{{$a}}{{end}}{{$a}}", "",
       "21"},
      {"with", "{{with .a}}{{.b}}{{end}}", "a: {b: 1}", "1"},
      {"JSON", "{{.l | JSON}} {{nil | JSON}} {{JSON .s}}", "{l: [{b: 1, a: 2}], s: t}",
       "[{\"a\":2,\"b\":1}] null \"t\""},
      {"calculations",
       "{{AddInt 1 2 3}} {{SubtractInt 5 7}} {{MultiplyInt 2 3}} {{DivideFloat 1 4}} {{Mod 7 4}}", "",
       "6 -2 6 0.25 3"},
      {"comparisons", "{{ge 2 2}} {{lt 1 2}} {{ne \"a\" \"b\"}} {{not true}} {{and 1 0}}", "",
       "true true true false 0"},
      {"white space is trimmed", "a {{- 1 -}} \n b", "", "a1b"},
      {"a comment", "a{{/* } */}}b", "", "ab"},
      {"braces within a text", "{{\"}}\"}}", "", "}}"},
  };
  for (const TemplateCase& c : cases) EXPECT_EQ(Executed(c), c.result) << c.sentence;
}

TEST(TextTemplate, ErrorsNameTheLine) {
  const TemplateCase cases[] = {
      {"no end", "a\n{{if .a}}", "", "line 2: {{end}} is missing for the block of line 2"},
      {"end without a block", "{{end}}", "", "line 1: {{end}} without if, range or with"},
      {"no closing braces", "\n{{ .a", "", "line 2: {{ without }}"},
      {"an unknown function", "{{AddInd 1 2}}", "",
       "line 1: function \"AddInd\" is not supported; did you mean \"AddInt\"?"},
      {"an unknown variable", "{{$x}}", "", "line 1: undefined variable $x"},
      {"a text as a number", "{{Int \"x\"}}", "", "line 1: Int: expected a number, got x"},
      {"no arguments", "{{Mod 1}}", "", "line 1: Mod: expected 2 arguments, got 1"},
      {"a division by zero", "{{DivideInt 1 0}}", "", "line 1: DivideInt: division by zero"},
      {"a remainder of zero", "{{Mod 1 0.5}}", "", "line 1: Mod: division by zero"},
      {"a number beyond the range", "{{Int 1e300}}", "",
       "line 1: Int: 1e+300 is not in the range of whole numbers"},
      {"different types", "{{eq 1 1.5}}", "", "line 1: eq: 1 and 1.5 have types that cannot be compared"},
      {"a range over a fraction", "{{range .num}}{{end}}", "num: 3",
       "line 1: range: expected a whole number, a list or a map, got 3"},
      {"arguments without a function", "{{.a .b}}", "", "line 1: only a function has arguments"},
      {"a field of a text", "{{.a.b}}", "a: x", "line 1: x has no field b"},
      {"too many steps", "{{range 2000000}}{{end}}", "", "line 1: more than 1,000,000 steps"},
      {"a text that is too long", "{{range 900000}}0123456789{{end}}", "",
       "line 1: the text is longer than 4 MiB"},
  };
  for (const TemplateCase& c : cases) EXPECT_EQ(Executed(c), c.result) << c.sentence;
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += "{{if 1}}";
  EXPECT_EQ(Executed({"", deep, "", ""}), "line 1: too many levels");
  EXPECT_EQ(Executed({"", "{{" + std::string(200, '(') + "1", "", ""}), "line 1: {{ without }}");
  EXPECT_EQ(Executed({"", "{{" + std::string(200, '(') + "1}}", "", ""}), "line 1: too many parentheses");
}

TEST(TextTemplate, OnlyATextWithoutActionsIsConstant) {
  EXPECT_TRUE(TextTemplate::Parse("a: 1")->constant());
  EXPECT_FALSE(TextTemplate::Parse("a: {{.Index}}")->constant());
}

}  // namespace
}  // namespace berth::scheduler_perf
