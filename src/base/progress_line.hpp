// Progress of long work, for people at a terminal.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

namespace berth {

// A line on standard error that is overwritten and removed at the end. Prints nothing if that is not a
// terminal.
class ProgressLine {
 public:
  ProgressLine() : terminal_(isatty(STDERR_FILENO) != 0) {}
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Show(std::string_view text) {
    if (!terminal_) return;
    fmt::print(stderr, "\r\033[K{}", text);
    std::fflush(stderr);
  }
  void Clear() {
    if (terminal_) fmt::print(stderr, "\r\033[K");
  }

 private:
  const bool terminal_;
};

}  // namespace berth
