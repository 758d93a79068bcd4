#include "base/counted_interner.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/random.hpp"

namespace berth {
namespace {

struct WordTag;
using Words = CountedInterner<WordTag>;

TEST(CountedInterner, RemovesATextAfterItsLastUseAndAssignsItsIdAgain) {
  Words words;
  const auto a = words.Use("a");
  EXPECT_EQ(words.Use("a"), a);
  words.Release(a);
  EXPECT_EQ(words.Find("a"), a) << "one use is left";
  words.Release(a);
  EXPECT_FALSE(words.Find("a").known());
  EXPECT_EQ(words.size(), 0U);
  EXPECT_EQ(words.Use("b"), a);
  EXPECT_EQ(words.Text(a), "b");
}

TEST(CountedInterner, APermanentTextIsNeverRemoved) {
  Words words;
  const auto used = words.Use("used");
  EXPECT_FALSE(words.IsPermanent(used));
  EXPECT_EQ(words.Intern("used"), used);
  EXPECT_TRUE(words.IsPermanent(used));
  words.Release(used);
  words.Release(used);
  EXPECT_EQ(words.Find("used"), used);
  EXPECT_EQ(words.Use("used"), used);
}

TEST(CountedInterner, ShrinkKeepsTheIdsOfPresentTexts) {
  Words words;
  std::vector<Id<WordTag>> ids;
  for (int i = 0; i < 10000; ++i) ids.push_back(words.Use(std::to_string(i)));
  for (int i = 0; i < 10000; ++i) {
    if (i != 17) words.Release(ids[i]);
  }
  words.Shrink();
  EXPECT_EQ(words.size(), 1U);
  EXPECT_EQ(words.Text(ids[17]), "17");
  EXPECT_EQ(words.Use("next").value, 0U) << "low ids are assigned first";
}

TEST(CountedInterner, AgreesWithAMapAfterRandomUsesAndReleases) {
  Words words;
  Random random(7);
  std::map<std::string, std::uint32_t> uses;
  std::map<std::string, Id<WordTag>> ids;
  for (int step = 0; step < 20000; ++step) {
    const std::string text = std::to_string(random.Below(50));
    if (uses[text] > 0 && random.Below(2) == 0) {
      words.Release(ids[text]);
      if (--uses[text] == 0) ids.erase(text);
    } else {
      const auto id = words.Use(text);
      ASSERT_TRUE(ids.try_emplace(text, id).first->second == id) << text;
      ++uses[text];
    }
    if (random.Below(100) == 0) words.Shrink();
    ASSERT_EQ(words.size(), ids.size());
    for (const auto& [known, id] : ids) ASSERT_EQ(words.Text(id), known);
  }
}

using CountedInternerDeathTest = testing::Test;
TEST(CountedInternerDeathTest, ReadingARemovedTextIsADefect) {
  Words words;
  const auto id = words.Use("a");
  words.Release(id);
  EXPECT_EXIT(words.Text(id), testing::ExitedWithCode(70), "Invariant violated");
}

}  // namespace
}  // namespace berth
