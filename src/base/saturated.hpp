// Sums of untrusted amounts that end at the largest int64 instead of wrapping.
#pragma once

#include <cstdint>

namespace berth {

// Negative amounts, which are sums that have wrapped (base/wrap.hpp), count as 0.
constexpr std::int64_t SaturatedSum(std::int64_t a, std::int64_t b) {
  if (a < 0) a = 0;
  if (b < 0) b = 0;
  return a > INT64_MAX - b ? INT64_MAX : a + b;
}

}  // namespace berth
