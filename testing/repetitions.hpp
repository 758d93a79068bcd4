// How often a test with random input is repeated.
#pragma once

#include <cstddef>

namespace berth::testing {

// `count`, or an eighth of it in a build with a sanitizer, where a test takes up to a hundred times as long.
// Such a build looks for memory errors and data races; that the results are right is found by the build
// without one. At least 1.
constexpr std::size_t Repetitions(std::size_t count) {
#ifdef BERTH_DEBUG_CHECKS
  return count < 8 ? 1 : count / 8;
#else
  return count;
#endif
}

}  // namespace berth::testing
