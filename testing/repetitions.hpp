// How often a test with random input is repeated.
#pragma once

#include <cstddef>

namespace berth::testing {

// `count`, or a quarter of it in a build with a sanitizer, where a test takes up to a hundred times as long.
// Such a build looks for memory errors and data races; that the results are right is found by the build
// without one. `count` is at least 4.
constexpr std::size_t Repetitions(std::size_t count) {
#ifdef BERTH_DEBUG_CHECKS
  return count / 4;
#else
  return count;
#endif
}

}  // namespace berth::testing
