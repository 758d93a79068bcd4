#include "base/keyed_hash.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace berth {
namespace {

// The bytes 0, 1, 2, ...
std::string Counting(std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(i);
  return bytes;
}

// Computed with an independent implementation that reproduces the vectors published for SipHash-2-4.
TEST(SipHash, HasTheExpectedValues) {
  const HashKey key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  const std::pair<std::size_t, std::uint64_t> cases[] = {
      {0, 0xabac0158050fc4dc}, {1, 0xc9f49bf37d57ca93},  {7, 0xd3927d989bb11140},
      {2, 0x82cb9b024dc7d44d}, {3, 0x8bf80ab8e7ddf7fb}, {4, 0xcf75576088d38328}, {5, 0xdef9d52f49533b67}, {8, 0x369095118d299a8e}, {9, 0x25a48eb36c063de4}, {15, 0xd320d86d2a519956}, {31, 0x2370dd1f8c21d1bc}};
  for (const auto& [size, expected] : cases) EXPECT_EQ(SipHash(key, Counting(size)), expected) << size;
}

TEST(SipHash, DependsOnTheKey) {
  EXPECT_NE(SipHash({1, 2}, "image"), SipHash({1, 3}, "image"));
  EXPECT_NE(SipHash({1, 2}, "image"), SipHash({2, 2}, "image"));
}

TEST(KeyedHash, IsTheSameWithinAProcess) {
  EXPECT_EQ(KeyedHash()("image"), KeyedHash()(std::string("image")));
  EXPECT_NE(KeyedHash()("image"), SipHash({0, 0}, "image"));
  EXPECT_EQ(KeyedHash()("key", "value"), KeyedHash()("key", "value"));
}

TEST(KeyedHash, TellsPairsApart) {
  std::set<std::size_t> hashes;
  for (std::size_t split = 0; split <= 16; ++split)
    hashes.insert(KeyedHash()(std::string(split, 'x'), std::string(16 - split, 'x')));
  EXPECT_EQ(hashes.size(), 17U);
}

}  // namespace
}  // namespace berth
