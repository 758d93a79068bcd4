// The memory that a program has allocated from jemalloc.
#pragma once

#include <jemalloc/jemalloc.h>

#include <cstddef>
#include <cstdint>

#include "base/check.hpp"

namespace berth::testing {

// Bytes that all threads have allocated and not freed. Blocks that other threads keep for their next
// allocations count; those of this thread are returned first. For programs that link berth_allocator, without
// sanitizers.
inline std::size_t AllocatedBytes() {
  std::uint64_t epoch = 1;  // writing it updates the statistics
  std::size_t allocated = 0, size = sizeof(allocated);
  const bool read = ::mallctl("thread.tcache.flush", nullptr, nullptr, nullptr, 0) == 0 &&
                    ::mallctl("epoch", nullptr, nullptr, &epoch, sizeof(epoch)) == 0 &&
                    ::mallctl("stats.allocated", &allocated, &size, nullptr, 0) == 0;
  BERTH_CHECK(read, allocated);
  return allocated;
}

}  // namespace berth::testing
