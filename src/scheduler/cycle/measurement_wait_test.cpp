#include "scheduler/cycle/measurement_wait.hpp"

#include <gtest/gtest.h>

namespace berth::cycle {
namespace {

using namespace std::chrono_literals;

constexpr MonoTime kStart{1h};

TEST(MeasurementWait, EndsWhenAllProfilesAreMeasured) {
  std::vector<bool> measured = {false, true, false};
  MeasurementWait wait(5s, [&](std::size_t profile) { return measured[profile]; }, 3);
  EXPECT_EQ(wait.NextDue(), MonoTime::max()) << "it begins with the first decision";
  EXPECT_TRUE(wait.Update(kStart));
  EXPECT_EQ(wait.NextDue(), kStart + 5s);
  EXPECT_TRUE(wait.IsWaiting(0));
  EXPECT_FALSE(wait.IsWaiting(1)) << "a profile without measurements";
  measured[2] = true;
  EXPECT_TRUE(wait.Update(kStart + 1s));
  EXPECT_FALSE(wait.IsWaiting(2));
  measured[0] = true;
  EXPECT_FALSE(wait.Update(kStart + 2s));
  measured[0] = false;
  EXPECT_FALSE(wait.Update(kStart + 3s)) << "plugins handle later outages";
  EXPECT_EQ(wait.NextDue(), MonoTime::max());
}

TEST(MeasurementWait, IsLimited) {
  MeasurementWait wait(5s, [](std::size_t) { return false; }, 2);
  EXPECT_TRUE(wait.Update(kStart));
  EXPECT_TRUE(wait.Update(kStart + 4999ms));
  EXPECT_FALSE(wait.Update(kStart + 5s));
  EXPECT_FALSE(wait.IsWaiting(0));
  EXPECT_FALSE(wait.IsWaiting(1));
  EXPECT_FALSE(wait.Update(kStart + 6s));
}

TEST(MeasurementWait, ALimitOfZeroDisablesIt) {
  MeasurementWait none(0s, [](std::size_t) { return false; }, 1);
  EXPECT_FALSE(none.Update(kStart));
  EXPECT_FALSE(none.IsWaiting(0));
  MeasurementWait without(5s, [](std::size_t) { return true; }, 1);
  EXPECT_FALSE(without.Update(kStart));
}

}  // namespace
}  // namespace berth::cycle
