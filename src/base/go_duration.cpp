#include "base/go_duration.hpp"

#include <cstdint>

namespace berth {
namespace {

// value / unit with as many decimals as it needs and no more.
std::string WithFraction(std::uint64_t value, std::uint64_t unit) {
  std::string text = std::to_string(value / unit);
  std::uint64_t rest = value % unit;
  if (rest == 0) return text;
  text += '.';
  for (std::uint64_t digit = unit / 10; rest != 0; digit /= 10) {
    text += static_cast<char>('0' + rest / digit);
    rest %= digit;
  }
  return text;
}

}  // namespace

std::string FormatGoDuration(Duration duration) {
  if (duration == Duration::zero()) return "0s";
  const std::int64_t signed_count = duration.count();
  // The smallest number has no positive counterpart as int64.
  const std::uint64_t count = signed_count < 0 ? ~static_cast<std::uint64_t>(signed_count) + 1
                                               : static_cast<std::uint64_t>(signed_count);
  const std::string sign = signed_count < 0 ? "-" : "";
  constexpr std::uint64_t kMicro = 1000, kMilli = 1000 * kMicro, kSecond = 1000 * kMilli;
  if (count < kMicro) return sign + std::to_string(count) + "ns";
  if (count < kMilli) return sign + WithFraction(count, kMicro) + "µs";
  if (count < kSecond) return sign + WithFraction(count, kMilli) + "ms";
  const std::uint64_t minutes = count / (60 * kSecond);
  std::string text = sign;
  if (minutes >= 60) text += std::to_string(minutes / 60) + "h";
  if (minutes > 0) text += std::to_string(minutes % 60) + "m";
  return text + WithFraction(count % (60 * kSecond), kSecond) + "s";
}

}  // namespace berth
