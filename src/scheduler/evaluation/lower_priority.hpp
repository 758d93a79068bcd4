// The priority of threads that evaluate for users.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

namespace berth::evaluation {

// Lowers the priority of the calling thread, so that it does not take a core from decisions. On Linux the
// value applies to this thread only.
inline void LowerPriorityOnce() {
  constexpr int kNice = 5;
  thread_local const bool lowered = setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice) == 0;
  static_cast<void>(lowered);
}

}  // namespace berth::evaluation
