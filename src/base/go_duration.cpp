#include "base/go_duration.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "base/ascii.hpp"

namespace berth {
namespace {

// value / unit with as many decimals as necessary.
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
  // The smallest int64 has no positive counterpart.
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

std::optional<Duration> ParseGoDuration(std::string_view text) {
  if (text == "0") return Duration::zero();
  const double sign = text.starts_with('-') ? -1 : 1;
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  double total = 0;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    if (text[0] != '.' && !IsAsciiDigit(text[0])) return std::nullopt;  // such as "nan"
    double number = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc() || number < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    static constexpr std::pair<std::string_view, double> kUnits[] = {{"ns", 1},   {"us", 1e3},  {"µs", 1e3},
                                                                     {"μs", 1e3}, {"ms", 1e6},  {"s", 1e9},
                                                                     {"m", 60e9}, {"h", 3600e9}};
    const auto unit = std::ranges::find_if(kUnits, [&](const auto& u) { return text.starts_with(u.first); });
    if (unit == std::end(kUnits)) return std::nullopt;
    total += number * unit->second;
    text.remove_prefix(unit->first.size());
  }
  constexpr double kTooLong = 9.2e18;  // nanoseconds; 292 years are 2^63
  if (total > kTooLong) return std::nullopt;
  return Duration(static_cast<std::int64_t>(sign * total));
}

}  // namespace berth
