#include "sandbox/controllers/job/back_off.hpp"

#include <gtest/gtest.h>

namespace berth::sandbox {
namespace {

using std::chrono::seconds;

TEST(JobBackOff, CountsFailuresSinceTheLastSuccess) {
  struct Step {
    std::vector<int> succeeded, failed;  // seconds after 1000
  };
  const struct {
    const char* name;
    std::vector<Step> steps;
    int now;
    int remaining;
  } cases[] = {
      {"without a failure there is no delay", {{{1, 2}, {}}}, 2, 0},
      {"the first failure delays by 10 s", {{{}, {3}}}, 5, 8},
      {"the delay ends", {{{}, {3}}}, 13, 0},
      {"each further failure doubles the delay", {{{}, {3}}, {{}, {20}}, {{}, {50}}}, 50, 40},
      {"several pods fail at the same time", {{{}, {7, 3, 5}}}, 7, 40},
      {"the delay is at most 10 min", {{{}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}}, 12, 600},
      {"a success ends the delay", {{{}, {3, 4}}, {{6}, {}}}, 6, 0},
      {"failures count anew after a success", {{{}, {3, 4}}, {{6}, {}}, {{}, {8}}}, 8, 10},
      {"only failures after a success that came with them count", {{{5}, {3, 4, 5, 6}}}, 6, 10},
      {"a failure in the future counts from now", {{{}, {500}}}, 3, 10},
  };
  const auto at = [](int second) { return WallTime(seconds(1000 + second)); };
  for (const auto& c : cases) {
    JobBackOff back_off;
    for (const Step& step : c.steps) {
      std::vector<WallTime> succeeded, failed;
      for (const int second : step.succeeded) succeeded.push_back(at(second));
      for (const int second : step.failed) failed.push_back(at(second));
      back_off.Add(succeeded, std::move(failed));
    }
    EXPECT_EQ(back_off.Remaining(at(c.now)), seconds(c.remaining)) << c.name;
  }
}

TEST(JobBackOff, AcceptsAnyTime) {
  JobBackOff back_off;
  back_off.Add({}, {WallTime::max()});
  EXPECT_EQ(back_off.Remaining(WallTime(seconds(5))), seconds(10));
  JobBackOff old;
  old.Add({}, {WallTime::min()});
  EXPECT_EQ(old.Remaining(WallTime(seconds(1'900'000'000))), seconds(0));
}

}  // namespace
}  // namespace berth::sandbox
