#include "base/go_duration.hpp"

#include <gtest/gtest.h>

namespace berth {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(GoDuration, FormatsLikeGo) {
  const std::pair<Duration, const char*> cases[] = {
      {Duration{0}, "0s"},
      {Duration{1}, "1ns"},
      {Duration{1100}, "1.1µs"},
      {milliseconds(250), "250ms"},
      {Duration{2'500'000}, "2.5ms"},
      {seconds(1), "1s"},
      {milliseconds(1500), "1.5s"},
      {Duration{1'000'000'001}, "1.000000001s"},
      {minutes(1), "1m0s"},
      {minutes(15), "15m0s"},
      {hours(1) + minutes(1) + milliseconds(1100), "1h1m1.1s"},
      {hours(100), "100h0m0s"},
      {-seconds(90), "-1m30s"},
      {Duration::min(), "-2562047h47m16.854775808s"},
  };
  for (const auto& [duration, text] : cases) EXPECT_EQ(FormatGoDuration(duration), text);
}

TEST(GoDuration, ParsesLikeGo) {
  const std::pair<const char*, Duration> cases[] = {{"0", Duration{0}},
                                                    {"1us", Duration{1000}},
                                                    {"1µs", Duration{1000}},
                                                    {"1.5ms", Duration{1'500'000}},
                                                    {"1h1m1.1s", hours(1) + minutes(1) + milliseconds(1100)},
                                                    {"-1m30s", -seconds(90)},
                                                    {"2500000h", hours(2'500'000)}};
  for (const auto& [text, duration] : cases) EXPECT_EQ(ParseGoDuration(text), duration) << text;
  for (const auto* text : {"", "-", "5", "5x", "s", "1h 1m", "3000000h", "nans", "infs", "+-0s", "1e3s", "."})
    EXPECT_EQ(ParseGoDuration(text), std::nullopt) << text;
}

}  // namespace
}  // namespace berth
