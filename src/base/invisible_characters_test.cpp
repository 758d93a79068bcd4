#include "base/invisible_characters.hpp"

#include <gtest/gtest.h>

#include "base/yaml.hpp"

namespace berth {
namespace {

TEST(InvisibleCharacters, AreNamedWithTheirPosition) {
  const struct {
    std::string text;
    std::size_t line;
    std::string found;
  } cases[] = {
      {"a:\n  b: 1\n  c:\u00a02\n", 3, "line 3, column 5: U+00A0 (no-break space): expected a space"},
      {"a:\n\u00a0\u00a0b: 1\n", 2, "line 2, column 1: U+00A0 (no-break space): expected a space"},
      {"a: [1,\u202f2]\n", 1, "line 1, column 7: U+202F (narrow no-break space): expected a space"},
      {"-\u3000a: 1\n", 1, "line 1, column 2: U+3000 (ideographic space): expected a space"},
      {"\u00fcber:\u200b 1\n", 1,
       "line 1, column 6: U+200B (zero width space): remove this invisible character"},
      {"a: 1\n\ufeffb: 2\n", 2,
       "line 2, column 1: U+FEFF (zero width no-break space): remove this invisible character"},
      {"a: 1\u2028b: 2\n", 1, "line 1, column 5: U+2028 (line separator): expected a line break"},
      {"key\u00a0: 1\n", 1, "line 1, column 4: U+00A0 (no-break space): expected a space"},
      {"a: 1 \u00a0# comment\n", 1, "line 1, column 6: U+00A0 (no-break space): expected a space"},
      {"a: 1\u00a0\r\n", 1, "line 1, column 5: U+00A0 (no-break space): expected a space"},
      {"a: 1\n\u00a0b: 1\nc\n", 3, "line 2, column 1: U+00A0 (no-break space): expected a space"},
      {"a: 1\nb\n\u00a0c: 1\n", 2, "line 3, column 1: U+00A0 (no-break space): expected a space"},
      {"a: 1\u0085b: 2\n", 1, "line 1, column 5: U+0085 (next line): expected a line break"},
      {"a:\u3164"
       "1\n",
       1, "line 1, column 3: U+3164 (Hangul filler): expected a space"},
      {"a:\u2063 1\n", 1, "line 1, column 3: U+2063 (invisible separator): remove this invisible character"},
      // a byte order mark is no column
      {"\ufeffkey\u00a0: 1\n", 1, "line 1, column 4: U+00A0 (no-break space): expected a space"},
      {"\ufeff\u00a0a: 1\n", 1, "line 1, column 1: U+00A0 (no-break space): expected a space"},
      // not the cause
      {"\ufeff# of\u00a0b\na: 1\n", 1, ""},
      {"a: it-'s # b\u00a0\n", 1, ""},
      {"a: http://x:'y # b\u00a0\n", 1, ""},
      {"\ufeffa: 1\nb\n", 2, ""},
      {"a: 1 # of\u00a0b\n", 1, ""},
      {"a: \"b:\u00a0c\"\n", 1, ""},
      {"a: '\u00a0'\n", 1, ""},
      {"a: ten\u00a0nodes\n", 1, ""},
      {"a: 1\n", 1, ""},
      {"", 1, ""},
  };
  for (const auto& [text, line, found] : cases)
    EXPECT_EQ(FindInvisibleCharacter(text, line).value_or(""), found) << text;
}

TEST(InvisibleCharacters, AreTheErrorOfATextThatCannotBeRead) {
  const std::string copied =
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
      "profiles:\n- schedulerName: x\n  plugins:\u00a0{score: {}}\n";
  const std::string error = "line 5, column 11: U+00A0 (no-break space): expected a space";
  EXPECT_EQ(yaml::ParseText(copied).error().message, "yaml: " + error);
  EXPECT_EQ(yaml::ParseValue(copied).error().message, "yaml: " + error);
  EXPECT_EQ(yaml::ParseStream(copied).error().message, error);
  EXPECT_EQ(yaml::ParseValue("a: 1\n\u00a0b\nc: 2\n").error().message,
            "yaml: line 2, column 1: U+00A0 (no-break space): expected a space");
  EXPECT_TRUE(yaml::ParseValue("a: \"\u00a0\"\nb: ten\u00a0nodes # of\u00a0b\n"));
  EXPECT_EQ(yaml::ParseValue("# of\u00a0b\na: b: c\n").error().message.find("U+00A0"), std::string::npos);
}

TEST(InvisibleCharacters, AreNamedAfterAnErrorInTheContent) {
  const std::string says = "; the YAML text has an invisible character: ";
  const struct {
    std::string text;
    std::string error;
  } cases[] = {
      {"a: 1\nkey\u00a0: 2\n",
       "wrong" + says + "line 2, column 4: U+00A0 (no-break space): expected a space"},
      {"a: 50\u200b\n",
       "wrong" + says + "line 1, column 6: U+200B (zero width space): remove this invisible character"},
      {"a:\n  co\ufefflor: x\n",
       "wrong" + says +
           "line 2, column 5: U+FEFF (zero width no-break space): remove this invisible character"},
      {"a: \"x\u202e\"\n",
       "wrong" + says + "line 1, column 6: U+202E (right-to-left override): remove this invisible character"},
      {"a: x\u2066y\n",
       "wrong" + says + "line 1, column 5: U+2066 (left-to-right isolate): remove this invisible character"},
      // one that is outside of words first
      {"a: ten\u00a0nodes\nb: 1\u00a0\n",
       "wrong" + says + "line 2, column 5: U+00A0 (no-break space): expected a space"},
      // after an escaped quote, and after the end of the quotes
      {"a: \"x\\\" # b\u00a0c\"\n",
       "wrong" + says + "line 1, column 12: U+00A0 (no-break space): expected a space"},
      {"a: 'it''s # b\u00a0c'\n",
       "wrong" + says + "line 1, column 14: U+00A0 (no-break space): expected a space"},
      {"{\"a\":\"b # c\u00a0\"}\n",
       "wrong" + says + "line 1, column 12: U+00A0 (no-break space): expected a space"},
      // none that has an effect
      {"a: \"x\\\\\" # b\u00a0c\n", "wrong"},
      {"a: 'it''s' # b\u00a0c\n", "wrong"},
      {"\ufeff# of\u00a0b\na: 1\n", "wrong"},
      {"a: it-'s # b\u00a0c\n", "wrong"},
      {"\ufeffa: 1 # of\u00a0b\nb: \u00fc\n", "wrong"},
      {"a: 1\n", "wrong"},
      {"", "wrong"},
  };
  for (const auto& [text, error] : cases) {
    const Expected<int> read = Invalid("wrong");
    EXPECT_EQ(WithInvisibleCharacter(read, text).error().message, error) << text;
  }
  EXPECT_EQ(WithInvisibleCharacter(Expected<int>(1), "a\u00a0: 1\n"), 1);
}

}  // namespace
}  // namespace berth
