// Percentages as Kubernetes' scores compute them.
#pragma once

#include <cstdint>

#include "base/wrap.hpp"

namespace berth {

// part * 100 / whole in int64 arithmetic; wraps on overflow as in Go. `whole` must not be 0.
//
// Dividing doubles is several times faster, and exact here. Let n = part * 100 and d = whole be integers with
// 0 <= n < 2^53 and 0 < d < 2^53, so both are doubles without rounding, and let k = floor(n / d). Rounding is
// monotone and k is a double, so fl(n / d) >= k. If fl(n / d) were k + 1, n / d would lie within half an ulp
// below k + 1. But n / d <= k + 1 - 1 / d, and half an ulp of numbers up to k + 1 is at most (k + 1) * 2^-53,
// so (k + 1) * d >= 2^53, while (k + 1) * d <= n + d. The condition n + d < 2^53 below excludes this. Hence
// truncation gives k.
inline std::int64_t Percent(std::int64_t part, std::int64_t whole) {
  constexpr std::int64_t kPartMax = (std::int64_t{1} << 52) / 100;
  constexpr std::int64_t kWholeMax = std::int64_t{1} << 52;
  if (part >= 0 && part < kPartMax && whole > 0 && whole < kWholeMax) {
    return static_cast<std::int64_t>(static_cast<double>(part * 100) / static_cast<double>(whole));
  }
  return WrapDiv(WrapMul(part, 100), whole);
}

}  // namespace berth
