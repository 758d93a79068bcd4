#include "base/truncate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace berth {
namespace {

TEST(Truncate, RoundsTowardsZero) {
  EXPECT_EQ(Truncate(2.9), 2);
  EXPECT_EQ(Truncate(-2.9), -2);
  EXPECT_EQ(Truncate(-0.5), 0);
}

TEST(Truncate, NumbersOutsideOfTheRangeBecomeTheSmallestInteger) {
  EXPECT_EQ(Truncate(-std::ldexp(1, 63)), INT64_MIN);
  EXPECT_EQ(Truncate(std::nextafter(std::ldexp(1, 63), 0)), INT64_MAX - 1023);
  for (const double value : {std::ldexp(1, 63), -3.74e20, 1e300, std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity(), std::nan("")})
    EXPECT_EQ(Truncate(value), INT64_MIN) << value;
}

}  // namespace
}  // namespace berth
