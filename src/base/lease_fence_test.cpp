#include "base/lease_fence.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace berth {
namespace {

using namespace std::chrono_literals;

TEST(LeaseFence, IsClosedBeforeTheFirstRenewal) {
  ManualClock clock;
  EXPECT_FALSE(LeaseFence(clock).Open());
}

TEST(LeaseFence, ClosesBeforeAnotherCandidateMayAcquireTheLease) {
  ManualClock clock;
  LeaseFence fence(clock);
  fence.Renewed(clock.BootNow(), 15s);
  clock.Advance(14s);
  EXPECT_TRUE(fence.Open());
  clock.Advance(250ms);
  EXPECT_FALSE(fence.Open()) << "a twentieth of the lease is kept as a margin";
}

TEST(LeaseFence, CountsFromTheTimeTheRequestWasSent) {
  ManualClock clock;
  LeaseFence fence(clock);
  const BootTime sent = clock.BootNow();
  clock.Advance(10s);  // the response was slow
  fence.Renewed(sent, 15s);
  clock.Advance(4s);
  EXPECT_TRUE(fence.Open());
  clock.Advance(1s);
  EXPECT_FALSE(fence.Open());
}

TEST(LeaseFence, IncludesSuspendedTime) {
  ManualClock clock;
  LeaseFence fence(clock);
  fence.Renewed(clock.BootNow(), 15s);
  const MonoTime before = clock.Now();
  clock.Suspend(20s);
  EXPECT_EQ(clock.Now(), before);
  EXPECT_FALSE(fence.Open());
}

TEST(LeaseFence, ALateResponseToAnEarlierRenewalDoesNotMoveItBack) {
  ManualClock clock;
  LeaseFence fence(clock);
  const BootTime early = clock.BootNow();
  clock.Advance(5s);
  fence.Renewed(clock.BootNow(), 15s);
  fence.Renewed(early, 15s);
  clock.Advance(14s);
  EXPECT_TRUE(fence.Open());
}

TEST(LeaseFence, StaysClosedAfterClose) {
  ManualClock clock;
  LeaseFence fence(clock);
  fence.Renewed(clock.BootNow(), 15s);
  fence.Close();
  EXPECT_FALSE(fence.Open());
  fence.Renewed(clock.BootNow(), 15s);
  EXPECT_FALSE(fence.Open());
}

TEST(LeaseFence, CanBeReadOnOtherThreadsThanTheWriters) {
  const SystemClock clock;
  LeaseFence fence(clock);
  std::atomic<bool> opened = false;
  std::jthread asker([&](std::stop_token stop) {
    while (!stop.stop_requested()) opened = opened || fence.Open();
  });
  while (!opened) fence.Renewed(clock.BootNow(), 15s);
  fence.Close();
  EXPECT_FALSE(fence.Open());
}

TEST(SystemClock, TimeSinceBootIsNotBehindTheMonotonicClock) {
  const SystemClock clock;
  EXPECT_GE(clock.BootNow().time_since_epoch() + 1s, clock.Now().time_since_epoch());
}

}  // namespace
}  // namespace berth
