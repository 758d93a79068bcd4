// SIGINT, SIGTERM and SIGHUP, received by a thread in sigwait, so that no code runs in a signal handler.
#pragma once

#include <csignal>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace berth::process {

// Must be constructed before any other thread: threads inherit the blocked signals. Ignores SIGPIPE. SIGHUP,
// which a terminal sends when it is closed, and administrators to reload files, never ends the process.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // `stop` is called once, on a thread of this object, at the first signal. The second signal ends the
  // program immediately with exit code 1.
  void OnFirst(std::function<void()> stop);
  // `hangup` is called at every SIGHUP, on that thread; without a call of this function SIGHUP is logged.
  // Must be called before OnFirst.
  void OnHangup(std::function<void()> hangup) { hangup_ = std::move(hangup); }
  // Waits until a call of `stop` or `hangup` in progress has returned; there are no later ones. The process
  // ends by itself then: the first signal has no effect, the second one still ends the program. May be called
  // repeatedly, by any thread but that of this object.
  void Disarm();

 private:
  void Stop(const std::function<void()>& stop);
  void Hangup();

  sigset_t set_{};
  std::mutex mutex_;       // held during calls
  bool disarmed_ = false;  // by mutex_
  std::function<void()> hangup_;
  std::jthread thread_;
};

// Blocks the same signals in the calling thread while it exists, and so in the threads that are started
// meanwhile: for code that starts threads before Signals is constructed, such as the runtime of a loaded
// library.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace berth::process
