#include "http/base64.hpp"

#include <gtest/gtest.h>

namespace berth::http {
namespace {

TEST(Base64, EncodesWithPadding) {
  EXPECT_EQ(EncodeBase64(""), "");
  EXPECT_EQ(EncodeBase64("a"), "YQ==");
  EXPECT_EQ(EncodeBase64("hello"), "aGVsbG8=");
  EXPECT_EQ(EncodeBase64(std::string_view("\xff\x00\xfe", 3)), "/wD+");
}

TEST(Base64, DecodesStrictly) {
  EXPECT_EQ(DecodeBase64("aGVs\nbG8="), "hello");
  EXPECT_EQ(DecodeBase64("YQ=="), "a");
  EXPECT_EQ(DecodeBase64(""), "");
  for (const char* bad : {"a", "aGVsbG8", "aGVsbG8 ", "=aaa", "aa=a", "===="}) {
    EXPECT_EQ(DecodeBase64(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace berth::http
