// Exact quotients of integers by multiplication with a reciprocal that is computed once: a vector division
// takes as long as ten multiplications. All functions are for kernels (base/vectorized.hpp).
#pragma once

#include <cstdint>

#include "base/vectorized.hpp"

namespace berth {

// 1 / whole, rounded to nearest; 0 for 0. The result for numbers outside 0 <= whole < 2^52 is unspecified.
[[gnu::always_inline]] inline double SmallInverse(std::int64_t whole) {
  return whole == 0 ? 0 : 1 / SmallToDouble(whole);
}

// Truncated towards zero, the result is floor(n / d), for integers 0 <= n < 2^50.7 and d > 0. `inverse` is
// 1 / d, rounded to nearest.
//
// n + 1/2 is a double without rounding. n / d and its floor k differ from k + 1 by at least 1 / d, so
// (n + 1/2) / d differs from k and from k + 1 by at least 1 / (2 d). The roundings of 1 / d and of the
// product change it by less than (n + 1/2) / d * 2^-51.9, which is less than 1 / (2 d).
[[gnu::always_inline]] inline double FloorBeforeTruncation(double n, double inverse) {
  return (n + 0.5) * inverse;
}

// The same for percentages: floor(part * 100 / whole), for integers 0 <= part < 2^44 and 0 < whole < 2^44.
[[gnu::always_inline]] inline double PercentBeforeTruncation(double part, double inverse) {
  return FloorBeforeTruncation(part * 100, inverse);
}
inline constexpr int kPercentBits = 44;

// Whether multiplication and addition with one rounding are one instruction.
template <VectorLevel kLevel>
inline constexpr bool kHasFusedMultiply =
#if defined(__x86_64__)
    kLevel != VectorLevel::kBaseline;
#else
    true;
#endif

// a / b, rounded to nearest as the division is, for integers 0 <= a < 2^50 and 0 < b < 2^50, and
// inverse = SmallInverse(b). Unspecified for b = 0, but not a trap.
//
// Let x = a / b > 0 (of 0 all steps are 0), 2^e <= x < 2^(e+1), and u = 2^(e-52), the distance of doubles
// there.
// - q, the product, differs from x by less than 3 u: two roundings, each at most x * 2^-53.
// - r = a - q b is exact: q is a multiple of u / 2, and |r| < 3 u * 2^50 < 2^53 * u / 2.
// - q + r * inverse = x + r * (inverse - 1 / b) differs from x by less than 3 u * 2^-53 < u * 2^-51.
// - It is rounded as x is, unless a midpoint between doubles lies between both. A midpoint is m = k * u / 2
//   with an odd k of at least 2^53. x - m = (a * 2 / u - k * b) * u / (2 b), and 2 / u is an integer, because
//   e < 50. The bracket is not zero: k is odd and would divide a, which is smaller. So
//   |x - m| >= u / (2 b) > u * 2^-51. If x = 2^e, the midpoint below is u / 4 away.
template <VectorLevel kLevel>
[[gnu::always_inline]] inline double SmallQuotient(double a, double b, double inverse) {
  if constexpr (!kHasFusedMultiply<kLevel>) return a / b;
  const double q = a * inverse;
  return __builtin_fma(__builtin_fma(-q, b, a), inverse, q);
}
inline constexpr int kQuotientBits = 50;
static_assert(kPercentBits < kSmallBits && kQuotientBits < kSmallBits);

}  // namespace berth
