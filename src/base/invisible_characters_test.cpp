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
      // not the cause
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
  const struct {
    std::string text;
    std::string error;
  } cases[] = {
      {"a: 1\nkey\u00a0: 2\n", "wrong; line 2, column 4: U+00A0 (no-break space): expected a space"},
      {"a: 50\u200b\n",
       "wrong; line 1, column 6: U+200B (zero width space): remove this invisible character"},
      {"a:\n  co\ufefflor: x\n",
       "wrong; line 2, column 5: U+FEFF (zero width no-break space): remove this invisible character"},
      {"a: \"x\u202e\"\n",
       "wrong; line 1, column 6: U+202E (right-to-left override): remove this invisible character"},
      {"a: x\u2066y\n",
       "wrong; line 1, column 5: U+2066 (left-to-right isolate): remove this invisible character"},
      // one that is outside of words first
      {"a: ten\u00a0nodes\nb: 1\u00a0\n",
       "wrong; line 2, column 5: U+00A0 (no-break space): expected a space"},
      // none that has an effect
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
