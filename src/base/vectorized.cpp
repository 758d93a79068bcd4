#include "base/vectorized.hpp"

namespace berth {

VectorLevel BestVectorLevel() {
#if defined(__x86_64__)
  static const VectorLevel level = [] {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v4")) return VectorLevel::kAvx512;
    if (__builtin_cpu_supports("x86-64-v3")) return VectorLevel::kAvx2;
    return VectorLevel::kBaseline;
  }();
  return level;
#else
  return VectorLevel::kBaseline;
#endif
}

}  // namespace berth
