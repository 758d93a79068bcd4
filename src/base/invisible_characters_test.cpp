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

}  // namespace
}  // namespace berth
