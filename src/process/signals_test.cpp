#include "process/signals.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <future>
#include <thread>

namespace berth::process {
namespace {

// Of two pending signals the one with the lower number, SIGHUP, is received first.
TEST(Signals, AHangupDoesNotEndTheProcess) {
  std::promise<void> stopped;
  Signals signals;
  ASSERT_EQ(kill(getpid(), SIGHUP), 0);
  signals.OnFirst([&] { stopped.set_value(); });
  ASSERT_EQ(kill(getpid(), SIGTERM), 0);
  stopped.get_future().wait();
}

TEST(SignalsBlocked, ThreadsThatAreStartedMeanwhileReceiveNone) {
  const auto blocks_termination = [] {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    return sigismember(&mask, SIGTERM) == 1;
  };
  bool within = false, after = true;
  // In a thread of its own, whose signals no other test has blocked.
  std::thread([&] {
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, nullptr);
    {
      const SignalsBlocked blocked;
      std::thread([&] { within = blocks_termination(); }).join();
    }
    std::thread([&] { after = blocks_termination(); }).join();
  }).join();
  EXPECT_TRUE(within);
  EXPECT_FALSE(after);
}

}  // namespace
}  // namespace berth::process
