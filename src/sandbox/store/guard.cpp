#include "sandbox/store/guard.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace berth::sandbox {

void PrintFailure(std::string_view what, std::string_view object, std::string_view error) {
  const std::string of = object.empty() ? "" : fmt::format(" of \"{}\"", object);
  fmt::print(stderr, "berth sandbox: {}{} failed: {}\n", what, of, error);
}

void RunTimersGuarded(TimerQueue& timers) {
  RunGuarded("a timer", "", [&] { timers.RunDue(); });
}

}  // namespace berth::sandbox
