#include "process/freed_memory.hpp"

#include <jemalloc/jemalloc.h>

#include <cstddef>
#include <cstring>

#include "observability/log/log.hpp"

// Null with sanitizers.
#pragma weak mallctl

namespace berth::process {
namespace {

// Returns an error number, 0 on success.
template <class T>
int Set(const char* name, T value) {
  return ::mallctl(name, nullptr, nullptr, &value, sizeof(value));
}

}  // namespace

// One thread is enough for what the process frees; by default there would be one for each processor.
void ReturnFreedMemory() {
  if (&::mallctl == nullptr) return;
  Set<std::size_t>("max_background_threads", 1);
  if (const int error = Set<bool>("background_thread", true); error != 0)
    log::Warning("Freed memory is returned to the system late: jemalloc has no background thread",
                 {{"err", std::strerror(error)}});
}

}  // namespace berth::process
