#include "base/timer_queue.hpp"

#include <gtest/gtest.h>

namespace berth {
namespace {

using namespace std::chrono_literals;

TEST(TimerQueue, RunsTasksWhenTheyAreDue) {
  const struct {
    const char* name;
    Duration uptime;  // of the machine
    Duration delay;
    Duration pass;
    bool runs;
  } cases[] = {
      {"not before the delay", 0s, 10s, 9s, false},
      {"after the delay", 0s, 10s, 10s, true},
      {"without delay", 0s, 0s, 0s, true},
      {"a negative delay is none", 0s, -5s, 0s, true},
      {"292 years on a machine that has run for a year", 24h * 365, Duration(9'200'000'000'000'000'000), 24h,
       false},
      {"the longest delay", 0s, Duration::max(), 24h, false},
  };
  for (const auto& c : cases) {
    ManualClock clock;
    clock.Advance(c.uptime);
    TimerQueue timers(clock);
    bool has_run = false;
    timers.After(c.delay, [&] { has_run = true; });
    clock.Advance(c.pass);
    timers.RunDue();
    EXPECT_EQ(has_run, c.runs) << c.name;
  }
}

}  // namespace
}  // namespace berth
