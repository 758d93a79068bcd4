// Exceptions of the sandbox's own callbacks: store observers, timers and controllers.
#pragma once

#include <exception>
#include <string_view>

#include "base/timer_queue.hpp"

namespace berth::sandbox {

// Prints "berth sandbox: <what> of "<object>" failed: <error>" on stderr; `object` may be empty.
void PrintFailure(std::string_view what, std::string_view object, std::string_view error);

// Runs `callback`. A std::exception is printed and goes no further: a value of an unexpected kind that a
// client wrote must not end the process. Returns false after an exception.
template <class Callback>
bool RunGuarded(std::string_view what, std::string_view object, Callback&& callback) {
  try {
    callback();
    return true;
  } catch (const std::exception& error) {
    PrintFailure(what, object, error.what());
    return false;
  }
}

// Like TimerQueue::RunDue. After a timer that fails, the other due ones stay in the queue: Next() is in the
// past then.
void RunTimersGuarded(TimerQueue& timers);

}  // namespace berth::sandbox
