// SIGINT and SIGTERM, taken by one thread with sigwait, so that no code runs in a signal handler.
#pragma once

#include <csignal>
#include <functional>
#include <thread>

namespace berth::process {

// Construct before any other thread exists: they inherit what is blocked. SIGPIPE is ignored from then on.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // `stop` is called once, on a thread of this object's, at the first signal. The second one ends the program
  // at once with exit code 1.
  void OnFirst(std::function<void()> stop);

 private:
  sigset_t set_{};
  std::jthread thread_;
};

}  // namespace berth::process
