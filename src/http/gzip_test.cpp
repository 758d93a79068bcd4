#include "http/gzip.hpp"

#include <gtest/gtest.h>

namespace berth::http {
namespace {

TEST(Gzip, DecompressesToTheSameText) {
  std::string varied;
  for (int i = 0; i < 100'000; ++i) varied += static_cast<char>(i % 46'000 * (i % 46'000) % 251);
  for (const std::string& text : {std::string(), std::string(10, 'x'), std::string(1 << 20, 'x'), varied})
    EXPECT_EQ(Gunzip(Gzip(text), 2 << 20).value_or("?"), text);
  EXPECT_LT(Gzip(std::string(1 << 20, 'x')).size(), 10'000U);
}

TEST(Gunzip, RejectsInvalidTruncatedAndTooLargeData) {
  const std::string packed = Gzip(std::string(1 << 20, 'x'));
  EXPECT_FALSE(Gunzip("not gzip", 1 << 20));
  EXPECT_FALSE(Gunzip("", 1 << 20));
  EXPECT_FALSE(Gunzip(packed.substr(0, packed.size() / 2), 2 << 20));
  EXPECT_EQ(Gunzip(packed, 1000).error().message, "the response is larger than 1000 bytes");
}

}  // namespace
}  // namespace berth::http
