// SIGINT, SIGTERM and SIGHUP, received by a thread in sigwait, so that no code runs in a signal handler.
#pragma once

#include <csignal>
#include <functional>
#include <thread>

namespace berth::process {

// Must be constructed before any other thread: threads inherit the blocked signals. Ignores SIGPIPE. SIGHUP,
// which a terminal sends when it is closed, and administrators to reload files, is logged and has no effect.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // `stop` is called once, on a thread of this object, at the first signal. The second signal ends the
  // program immediately with exit code 1.
  void OnFirst(std::function<void()> stop);

 private:
  sigset_t set_{};
  std::jthread thread_;
};

}  // namespace berth::process
