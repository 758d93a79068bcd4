// Ends the process if it has not ended by itself in time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/clock.hpp"

namespace berth::process {

// Waits on a thread of its own: the others may be blocked, such as an IO thread that waits for the end of
// getaddrinfo when it is destroyed. The destructor ends the wait without a call.
class ForcedEnd {
 public:
  // Ends the process immediately, with exit code 1.
  ForcedEnd();
  // `end` is called at most once, on the thread of this object.
  explicit ForcedEnd(std::function<void()> end) : end_(std::move(end)) {}
  ForcedEnd(const ForcedEnd&) = delete;
  ForcedEnd& operator=(const ForcedEnd&) = delete;

  // Ends the process after `limit` from now on. Of several calls, the earliest end applies. Any thread.
  void Within(Duration limit);

 private:
  void Wait(const std::stop_token& stop);

  const std::function<void()> end_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::chrono::steady_clock::time_point end_at_ = std::chrono::steady_clock::time_point::max();
  std::jthread thread_;  // last: it uses the other members
};

}  // namespace berth::process
