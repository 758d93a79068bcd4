#include "process/signals.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <future>

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

}  // namespace
}  // namespace berth::process
