#include "base/clock.hpp"

#include <fmt/format.h>

#include <ctime>

namespace berth {
namespace {

std::tm Utc(WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
  const std::time_t value = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&value, &parts);
  return parts;
}

std::string DateAndTime(const std::tm& t) {
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday,
                     t.tm_hour, t.tm_min, t.tm_sec);
}

}  // namespace

BootTime SystemClock::BootNow() const {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return BootTime(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

std::string FormatTime(WallTime time) { return DateAndTime(Utc(time)) + "Z"; }

std::string FormatMicroTime(WallTime time) {
  const auto micros =
      std::chrono::floor<std::chrono::microseconds>(time).time_since_epoch().count() % 1'000'000;
  return DateAndTime(Utc(time)) + fmt::format(".{:06}Z", micros < 0 ? micros + 1'000'000 : micros);
}

}  // namespace berth
