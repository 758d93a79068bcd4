#include "process/freed_memory.hpp"

#include <jemalloc/jemalloc.h>

#include <cstddef>

#include "observability/log/log.hpp"

// Null in programs with another allocator.
#pragma weak mallctl

namespace berth::process {
namespace {

template <class T>
bool Set(const char* name, T value) {
  return ::mallctl(name, nullptr, nullptr, &value, sizeof(value)) == 0;
}

}  // namespace

// One thread serves all threads of the process: none of them allocates so fast that a second one would help.
void ReturnFreedMemory() {
  if (&::mallctl == nullptr) return;
  if (!Set<std::size_t>("max_background_threads", 1) || !Set<bool>("background_thread", true))
    log::Warning("Freed memory is returned late: the allocator has no thread for it");
}

}  // namespace berth::process
