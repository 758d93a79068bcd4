#include "base/seeded_hash.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <string>

namespace berth {
namespace {

constexpr std::uint64_t kSeed = 0x243f6a8885a308d3;

TEST(HashWithSeed, DependsOnEveryByteAndOnTheSize) {
  std::set<std::uint64_t> hashes;
  for (std::size_t size = 0; size <= 70; ++size) {
    const std::string text(size, 'x');
    EXPECT_TRUE(hashes.insert(HashWithSeed(kSeed, text)).second) << size;
    for (std::size_t at = 0; at < size; ++at) {
      std::string changed = text;
      changed[at] = 'y';
      EXPECT_TRUE(hashes.insert(HashWithSeed(kSeed, changed)).second) << size << ", " << at;
    }
  }
}

TEST(HashWithSeed, DependsOnTheSeed) {
  for (const std::string text : {"", "a", "image", "registry.example/team/application:1.2.3"}) {
    for (int bit = 0; bit < 64; ++bit)
      EXPECT_NE(HashWithSeed(kSeed, text), HashWithSeed(kSeed ^ std::uint64_t{1} << bit, text))
          << text << bit;
  }
}

TEST(HashWithSeed, AChangedBitChangesHalfOfTheBits) {
  std::size_t changed = 0, cases = 0;
  for (int number = 0; number < 500; ++number) {
    const std::string text = "registry.example/app:" + std::to_string(number);
    for (std::size_t bit = 0; bit < 8 * text.size(); bit += 5) {
      std::string other = text;
      other[bit / 8] = static_cast<char>(other[bit / 8] ^ 1 << bit % 8);
      changed +=
          static_cast<std::size_t>(std::popcount(HashWithSeed(kSeed, text) ^ HashWithSeed(kSeed, other)));
      ++cases;
    }
  }
  EXPECT_NEAR(static_cast<double>(changed) / static_cast<double>(cases), 32, 0.5);
}

TEST(HashWithSeed, SimilarTextsFillABucketEachAsRandomNumbersDo) {
  constexpr std::size_t kTexts = 65'536;
  std::set<std::uint64_t> low, high;
  for (std::size_t i = 0; i < kTexts; ++i) {
    const std::uint64_t hash = HashWithSeed(kSeed, "image-" + std::to_string(i));
    low.insert(hash % kTexts);
    high.insert(hash >> 48);
  }
  // 1 - 1/e of the buckets.
  EXPECT_NEAR(static_cast<double>(low.size()), 0.632 * kTexts, 0.01 * kTexts);
  EXPECT_NEAR(static_cast<double>(high.size()), 0.632 * kTexts, 0.01 * kTexts);
}

TEST(SeededHash, IsTheSameWithinAProcess) {
  EXPECT_EQ(SeededHash()("image"), SeededHash()(std::string("image")));
  EXPECT_NE(SeededHash()("image"), HashWithSeed(0, "image"));
  EXPECT_EQ(SeededHash()("key", "value"), SeededHash()("key", "value"));
}

TEST(SeededHash, TellsPairsApart) {
  std::set<std::size_t> hashes;
  for (std::size_t split = 0; split <= 16; ++split)
    hashes.insert(SeededHash()(std::string(split, 'x'), std::string(16 - split, 'x')));
  EXPECT_EQ(hashes.size(), 17U);
}

}  // namespace
}  // namespace berth
