// Memory that the process has freed.
#pragma once

namespace berth::process {

// From now on a thread of the allocator returns freed memory to the system, gradually and within about ten
// seconds (jemalloc's setting dirty_decay_ms). Without it, memory is returned only when a thread allocates
// again. No effect with sanitizers, which have their own allocators.
void ReturnFreedMemory();

}  // namespace berth::process
