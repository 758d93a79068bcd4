#include "base/utf8_prefix.hpp"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(Utf8Prefix, EndsBetweenTwoCharacters) {
  EXPECT_EQ(Utf8Prefix("abc", 3), "abc");
  EXPECT_EQ(Utf8Prefix("abc", 2), "ab");
  EXPECT_EQ(Utf8Prefix("a\u20acb", 4), "a\u20ac");
  EXPECT_EQ(Utf8Prefix("a\u20acb", 3), "a");
  EXPECT_EQ(Utf8Prefix("\u20ac", 2), "");
  EXPECT_EQ(Utf8Prefix("\x80\x80", 1), "") << "no character begins";
  EXPECT_EQ(Utf8Prefix("", 0), "");
}

}  // namespace
}  // namespace berth
