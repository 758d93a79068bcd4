// Random numbers from an explicit seed: the same seed gives the same run.
#pragma once

#include <cstdint>

namespace berth {

// SplitMix64: small, fast, good enough for tie-breaking and jitter. Not for secrets. One thread.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t Next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound); bound must be positive and below 2^32. Multiply-shift: the bias is below bound /
  // 2^32.
  std::uint64_t Below(std::uint64_t bound) { return ((Next() >> 32) * bound) >> 32; }
  // Uniform in [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace berth
