#include "base/text_layout.hpp"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(TextLayout, WrapsBetweenWordsAndIndentsFollowingLines) {
  struct Case {
    const char* what;
    const char* words;
    std::size_t width;
    const char* want;
  };
  const Case cases[] = {
      {"nothing is appended of no words", "", 20, "flag: "},
      {"words that fit stay on the line", "one two", 20, "flag: one two"},
      {"a line may have exactly the maximum width", "one two", 13, "flag: one two"},
      {"one column less and the last word moves", "one two", 12, "flag: one\n      two"},
      {"a word that is too long for any line is not broken", "a incomprehensibly b", 12,
       "flag: a\n      incomprehensibly\n      b"},
  };
  for (const Case& c : cases) {
    std::string text = "flag: ";
    AppendWrapped(text, c.words, 6, c.width);
    EXPECT_EQ(text, c.want) << c.what;
  }
}

TEST(TextLayout, GroupsDigitsByThree) {
  EXPECT_EQ(WithCommas(0), "0");
  EXPECT_EQ(WithCommas(999), "999");
  EXPECT_EQ(WithCommas(1'000), "1,000");
  EXPECT_EQ(WithCommas(1'234'567), "1,234,567");
}

TEST(TextLayout, NounsFollowTheirNumber) {
  EXPECT_EQ(Counted(0, "pod"), "0 pods");
  EXPECT_EQ(Counted(1, "pod"), "1 pod");
  EXPECT_EQ(Counted(1234, "pod"), "1,234 pods");
}

TEST(TextTable, CharactersTakeTheColumnsOfATerminal) {
  EXPECT_EQ(TextTable({{"größe", "x"}, {"abcde", "y"}}), "größe   x\nabcde   y\n");
  EXPECT_EQ(TextTable({{"設定", "x"}, {"abcd", "y"}}), "設定   x\nabcd   y\n");
  EXPECT_EQ(TextTable({{"e\u0301", "x"}, {"a", "y"}}), "e\u0301   x\na   y\n");
  EXPECT_EQ(TextTable({{"\xff\xfe", "x"}, {"ab", "y"}}), "\xff\xfe   x\nab   y\n") << "not UTF-8";
}

TEST(TextLayout, WrapsByColumnsAndNotByBytes) {
  std::string text;
  AppendWrapped(text, "größe ä", 0, 7);
  EXPECT_EQ(text, "größe ä");
}

TEST(TextTable, AlignsColumnsWithoutTrailingSpaces) {
  EXPECT_EQ(TextTable({{"A", "B"}, {"long", "x"}, {"y"}}), "A      B\nlong   x\ny\n");
  EXPECT_EQ(TextTable({{"A", "B"}, {"long", "1"}, {"y", "10"}, {"z", ""}},
                      {.indent = 1, .gap = 2, .right_aligned = true}),
            " A      B\n long   1\n y     10\n z\n");
}

}  // namespace
}  // namespace berth
