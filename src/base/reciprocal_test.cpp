#include "base/reciprocal.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.hpp"

namespace berth {
namespace {

// Below 2^`bits`, of every magnitude, often a round number or next to one.
std::int64_t Number(Random& random, std::uint64_t bits) {
  const std::uint64_t any = random.Next() >> (64 - bits) >> random.Below(bits);
  if (random.Below(4) != 0) return static_cast<std::int64_t>(any);
  const std::uint64_t round = std::uint64_t{1} << random.Below(bits);
  return static_cast<std::int64_t>(round - random.Below(2));
}
// At least 1.
std::int64_t Divisor(Random& random, std::uint64_t bits) {
  return std::max<std::int64_t>(Number(random, bits), 1);
}

std::int64_t PercentByInverse(std::int64_t part, std::int64_t whole) {
  return static_cast<std::int64_t>(PercentBeforeTruncation(static_cast<double>(part), SmallInverse(whole)));
}

double QuotientByInverse(std::int64_t a, std::int64_t b) {
  return SmallQuotient<VectorLevel::kAvx2>(static_cast<double>(a), static_cast<double>(b), SmallInverse(b));
}

TEST(Reciprocal, PercentagesEqualIntegerDivisionUpToTheLargestNumbers) {
  Random random(1);
  for (int round = 0; round < 1'000'000; ++round) {
    const std::int64_t whole = Divisor(random, kPercentBits);
    // Next to a round percentage, where rounding matters most, or anywhere.
    const std::int64_t percent = static_cast<std::int64_t>(random.Below(101));
    std::int64_t part = random.Below(2) == 0
                            ? Number(random, kPercentBits)
                            : whole * percent / 100 + static_cast<std::int64_t>(random.Below(3)) - 1;
    part = std::clamp<std::int64_t>(part, 0, (std::int64_t{1} << kPercentBits) - 1);
    ASSERT_EQ(PercentByInverse(part, whole), part * 100 / whole) << part << " of " << whole;
  }
}

TEST(Reciprocal, QuotientsEqualDivisionUpToTheLargestNumbers) {
  Random random(2);
  for (int round = 0; round < 1'000'000; ++round) {
    const std::int64_t b = Divisor(random, kQuotientBits);
    std::int64_t a = Number(random, kQuotientBits);
    if (random.Below(4) == 0)  // close to a whole number
      a = std::min((a / b) * b + static_cast<std::int64_t>(random.Below(3)),
                   (std::int64_t{1} << kQuotientBits) - 1);
    ASSERT_EQ(QuotientByInverse(a, b), static_cast<double>(a) / static_cast<double>(b)) << a << " / " << b;
  }
}

TEST(Reciprocal, AWholeOfZeroHasTheInverseZero) {
  EXPECT_EQ(SmallInverse(0), 0.0);
  EXPECT_EQ(PercentByInverse(0, 0), 0);
  EXPECT_EQ(QuotientByInverse(7, 0), 0.0);
}

}  // namespace
}  // namespace berth
