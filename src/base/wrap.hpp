// Integer arithmetic that wraps, as in Go. Quantities are untrusted input and may be absurdly large.
// kube-scheduler's sums wrap silently; these do the same without undefined behaviour.
#pragma once

#include <cstdint>

namespace berth {

constexpr std::int64_t WrapAdd(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
constexpr std::int64_t WrapSub(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
constexpr std::int64_t WrapMul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
// Go's int64 division, INT64_MIN / -1 included. b must not be 0.
constexpr std::int64_t WrapDiv(std::int64_t a, std::int64_t b) { return b == -1 ? WrapSub(0, a) : a / b; }

}  // namespace berth
