// Memory that the process has freed.
#pragma once

namespace berth::process {

// From now on a thread of the allocator returns memory to the system ten seconds after it was freed. Without
// it, memory is returned only when a thread allocates again. No effect in programs with another allocator
// than jemalloc: those with sanitizers, and schedulers whose author has linked one.
void ReturnFreedMemory();

}  // namespace berth::process
