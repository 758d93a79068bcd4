#include <gtest/gtest.h>

#include <cmath>

#include "tools/simulate/distribution.hpp"
#include "tools/simulate/histogram.hpp"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;

TEST(Histogram, PercentilesAreWithinTwoPercentAndNeverBelow) {
  Histogram histogram;
  for (int i = 1; i <= 10'000; ++i) histogram.Add(std::chrono::microseconds(i));
  for (const double share : {0.01, 0.5, 0.9, 0.99, 1.0}) {
    const double exact = share * 10'000 * 1000;
    const auto percentile = static_cast<double>(histogram.Percentile(share).count());
    EXPECT_GE(percentile, exact) << share;
    EXPECT_LE(percentile, exact * 1.016) << share;
  }
  EXPECT_EQ(histogram.max(), 10ms);
  EXPECT_EQ(histogram.Percentile(1), 10ms);
  EXPECT_EQ(histogram.mean(), 5000500ns);
}

TEST(Histogram, SmallValuesAreExactAndNoneGiveZero) {
  Histogram histogram;
  EXPECT_EQ(histogram.Percentile(0.5), 0ns);
  histogram.Add(-5ns);
  histogram.Add(3ns);
  histogram.Add(127ns);
  EXPECT_EQ(histogram.Percentile(0.3), 0ns);
  EXPECT_EQ(histogram.Percentile(0.5), 3ns);
  EXPECT_EQ(histogram.Percentile(1), 127ns);
}

double MeanSeconds(const Distribution& distribution) {
  Random random(1);
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) sum += std::chrono::duration<double>(distribution.Draw(random)).count();
  return sum / 100'000;
}

TEST(Distribution, MeansAreThoseOfTheDistributions) {
  using Kind = Distribution::Kind;
  EXPECT_DOUBLE_EQ(MeanSeconds({.kind = Kind::kFixed, .value = 10s}), 10);
  EXPECT_NEAR(MeanSeconds({.kind = Kind::kUniform, .value = 10s, .most = 30s}), 20, 0.1);
  EXPECT_NEAR(MeanSeconds({.kind = Kind::kExponential, .value = 10s}), 10, 0.15);
  EXPECT_NEAR(MeanSeconds({.kind = Kind::kLogNormal, .value = 10s, .sigma = 0.5}), 10 * std::exp(0.125),
              0.15);
}

TEST(Distribution, DrawsAreNeverShorterThanAMillisecond) {
  Random random(1);
  const Distribution tiny{.kind = Distribution::Kind::kExponential, .value = 1ms};
  for (int i = 0; i < 1000; ++i) EXPECT_GE(tiny.Draw(random), 1ms);
}

}  // namespace
}  // namespace berth::simulate
