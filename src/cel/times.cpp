#include "cel/times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/go_quote.hpp"
#include "cel/numbers.hpp"

namespace berth::cel {
namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr std::int64_t kSecondsPerDay = 86400;

std::int64_t FloorDivide(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

// Days since 1970-01-01 of a date in the proleptic Gregorian calendar.
std::int64_t DaysFromCivil(std::int64_t year, int month, int day) {
  year -= month <= 2;
  const std::int64_t era = FloorDivide(year, 400);
  const std::int64_t year_of_era = year - era * 400;
  const std::int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

bool IsLeap(std::int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

int DaysIn(std::int64_t year, int month) {
  constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && IsLeap(year) ? 29 : kDays[static_cast<std::size_t>(month - 1)];
}

// Reads a prefix of a text; every function returns whether it found what it reads.
struct Scanner {
  std::string_view text;

  bool Literal(char c) {
    if (!text.starts_with(c)) return false;
    text.remove_prefix(1);
    return true;
  }
  bool Digits(std::size_t least, std::size_t most, int& value) {
    std::size_t count = 0;
    value = 0;
    while (count < most && count < text.size() && text[count] >= '0' && text[count] <= '9') {
      value = value * 10 + (text[count++] - '0');
    }
    text.remove_prefix(count);
    return count >= least;
  }
};

// The fraction of a second after the seconds; all digits are read, nine are significant.
int ReadFraction(Scanner& scanner) {
  const std::string_view text = scanner.text;
  if (text.size() < 2 || (text[0] != '.' && text[0] != ',') || text[1] < '0' || text[1] > '9') return 0;
  std::size_t end = 1;
  int nanoseconds = 0;
  for (; end < text.size() && text[end] >= '0' && text[end] <= '9'; ++end) {
    if (end <= 9) nanoseconds = nanoseconds * 10 + (text[end] - '0');
  }
  for (std::size_t digits = std::min<std::size_t>(end - 1, 9); digits < 9; ++digits) nanoseconds *= 10;
  scanner.text.remove_prefix(end);
  return nanoseconds;
}

bool ReadOffset(Scanner& scanner, int& offset) {
  if (scanner.Literal('Z')) {
    offset = 0;
    return scanner.text.empty();
  }
  const bool negative = scanner.text.starts_with('-');
  int hours = 0;
  int minutes = 0;
  if (!scanner.Literal('-') && !scanner.Literal('+')) return false;
  if (!scanner.Digits(2, 2, hours) || !scanner.Literal(':') || !scanner.Digits(2, 2, minutes)) return false;
  if (hours > 24 || minutes > 60) return false;
  offset = (hours * 60 + minutes) * 60 * (negative ? -1 : 1);
  return scanner.text.empty();
}

std::string Fraction(std::int32_t nanoseconds) {
  if (nanoseconds == 0) return {};
  std::string digits = fmt::format(".{:09}", nanoseconds);
  digits.erase(digits.find_last_not_of('0') + 1);
  return digits;
}

std::string OffsetText(std::int32_t offset, std::string_view separator) {
  const int minutes = std::abs(offset) / 60;
  return fmt::format("{}{:02}{}{:02}", offset < 0 ? '-' : '+', minutes / 60, separator, minutes % 60);
}

std::string DateAndTime(const TimestampObject& t, char separator) {
  const CivilTime c = ToCivil(t.seconds + t.offset);
  return fmt::format("{:04}-{:02}-{:02}{}{:02}:{:02}:{:02}{}", c.year, c.month, c.day, separator, c.hour,
                     c.minute, c.second, Fraction(t.nanoseconds));
}

Value TimestampOverflow() { return Value::Error("timestamp overflow"); }
Value IntOverflow() { return Value::Error("integer overflow"); }

std::optional<std::int64_t> UnitOf(std::string_view unit) {
  if (unit == "ns") return 1;
  if (unit == "us" || unit == "\xc2\xb5s" || unit == "\xce\xbcs") return 1000;
  if (unit == "ms") return 1'000'000;
  if (unit == "s") return kNanosecondsPerSecond;
  if (unit == "m") return 60 * kNanosecondsPerSecond;
  if (unit == "h") return 3600 * kNanosecondsPerSecond;
  return std::nullopt;
}

constexpr std::uint64_t kLimit = std::uint64_t{1} << 63;

// One number with its unit, in nanoseconds.
std::optional<std::uint64_t> ReadDurationPart(std::string_view& text) {
  const auto digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  std::uint64_t whole = 0;
  std::size_t at = 0;
  for (; digit(at); ++at) {
    if (whole > kLimit / 10) return std::nullopt;
    whole = whole * 10 + static_cast<std::uint64_t>(text[at] - '0');
    if (whole > kLimit) return std::nullopt;
  }
  const bool before = at > 0;
  std::uint64_t fraction = 0;
  double scale = 1;
  bool after = false;
  if (at < text.size() && text[at] == '.') {
    bool overflow = false;
    for (++at; digit(at); ++at) {
      after = true;
      if (overflow) continue;
      const std::uint64_t next = fraction * 10 + static_cast<std::uint64_t>(text[at] - '0');
      if (fraction > (kLimit - 1) / 10 || next > kLimit) {
        overflow = true;
        continue;
      }
      fraction = next;
      scale *= 10;
    }
  }
  if (!before && !after) return std::nullopt;
  std::size_t end = at;
  while (end < text.size() && text[end] != '.' && !digit(end)) ++end;
  const auto unit = UnitOf(text.substr(at, end - at));
  if (!unit || whole > kLimit / static_cast<std::uint64_t>(*unit)) return std::nullopt;
  whole *= static_cast<std::uint64_t>(*unit);
  if (fraction > 0) {
    whole += static_cast<std::uint64_t>(static_cast<double>(fraction) * (static_cast<double>(*unit) / scale));
    if (whole > kLimit) return std::nullopt;
  }
  text.remove_prefix(end);
  return whole;
}

}  // namespace

std::optional<std::int64_t> ParseDuration(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return 0;
  if (text.empty()) return std::nullopt;
  std::uint64_t total = 0;
  while (!text.empty()) {
    const auto part = ReadDurationPart(text);
    if (!part) return std::nullopt;
    total += *part;
    if (total > kLimit) return std::nullopt;
  }
  if (negative) return static_cast<std::int64_t>(0 - total);
  if (total > kLimit - 1) return std::nullopt;
  return static_cast<std::int64_t>(total);
}

std::string DurationSeconds(std::int64_t nanoseconds) {
  const std::int64_t whole = nanoseconds / kNanosecondsPerSecond;
  const double seconds =
      static_cast<double>(whole) + static_cast<double>(nanoseconds % kNanosecondsPerSecond) / 1e9;
  return FormatFixed(seconds) + "s";
}

std::string GoDurationText(std::int64_t nanoseconds) {
  if (nanoseconds == 0) return "0s";
  const bool negative = nanoseconds < 0;
  std::uint64_t left =
      negative ? 0 - static_cast<std::uint64_t>(nanoseconds) : static_cast<std::uint64_t>(nanoseconds);
  const auto with_fraction = [&](std::uint64_t value, std::uint64_t unit, int digits, const char* name) {
    std::string text = std::to_string(value / unit);
    if (value % unit != 0) {
      std::string fraction = fmt::format(".{:0{}}", value % unit, digits);
      fraction.erase(fraction.find_last_not_of('0') + 1);
      text += fraction;
    }
    return text + name;
  };
  std::string text = negative ? "-" : "";
  if (left < 1000) return text + std::to_string(left) + "ns";
  if (left < 1'000'000) return text + with_fraction(left, 1000, 3, "\xc2\xb5s");
  if (left < static_cast<std::uint64_t>(kNanosecondsPerSecond))
    return text + with_fraction(left, 1'000'000, 6, "ms");
  const std::uint64_t minute = 60 * static_cast<std::uint64_t>(kNanosecondsPerSecond);
  const std::uint64_t minutes = left / minute;
  if (minutes >= 60) text += std::to_string(minutes / 60) + "h";
  if (minutes > 0) text += std::to_string(minutes % 60) + "m";
  return text + with_fraction(left % minute, static_cast<std::uint64_t>(kNanosecondsPerSecond), 9, "s");
}

Value ParseTimestamp(std::string_view text) {
  Scanner scanner{text};
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, offset = 0;
  if (!scanner.Digits(4, 4, year) || !scanner.Literal('-') || !scanner.Digits(2, 2, month) ||
      !scanner.Literal('-') || !scanner.Digits(2, 2, day) || !scanner.Literal('T') ||
      !scanner.Digits(1, 2, hour) || !scanner.Literal(':') || !scanner.Digits(2, 2, minute) ||
      !scanner.Literal(':') || !scanner.Digits(2, 2, second)) {
    return {};
  }
  const int nanoseconds = ReadFraction(scanner);
  if (!ReadOffset(scanner, offset)) return {};
  if (month < 1 || month > 12 || day < 1 || day > DaysIn(year, month) || hour > 23 || minute > 59 ||
      second > 59) {
    return {};
  }
  const std::int64_t seconds =
      DaysFromCivil(year, month, day) * kSecondsPerDay + hour * 3600 + minute * 60 + second - offset;
  if (seconds < kMinTimestamp || seconds > kMaxTimestamp) return TimestampOverflow();
  return Value::Timestamp(seconds, nanoseconds, offset);
}

std::string FormatTimestamp(const TimestampObject& t) {
  return DateAndTime(t, 'T') + (t.offset == 0 ? "Z" : OffsetText(t.offset, ":"));
}

std::string GoTimestampText(const TimestampObject& t) {
  const std::string offset = OffsetText(t.offset, "");
  return DateAndTime(t, ' ') + " " + offset + " " + (t.offset == 0 ? "UTC" : offset);
}

CivilTime ToCivil(std::int64_t seconds) {
  const std::int64_t days = FloorDivide(seconds, kSecondsPerDay);
  const std::int64_t rest = seconds - days * kSecondsPerDay;
  const std::int64_t shifted = days + 719468;
  const std::int64_t era = FloorDivide(shifted, 146097);
  const std::int64_t day_of_era = shifted - era * 146097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t shifted_month = (5 * day_of_year + 2) / 153;
  CivilTime c{};
  c.day = static_cast<int>(day_of_year - (153 * shifted_month + 2) / 5 + 1);
  c.month = static_cast<int>(shifted_month < 10 ? shifted_month + 3 : shifted_month - 9);
  c.year = year_of_era + era * 400 + (c.month <= 2);
  c.hour = static_cast<int>(rest / 3600);
  c.minute = static_cast<int>(rest / 60 % 60);
  c.second = static_cast<int>(rest % 60);
  c.day_of_year = static_cast<int>(days - DaysFromCivil(c.year, 1, 1));
  c.day_of_week = static_cast<int>(((days + 4) % 7 + 7) % 7);
  return c;
}

Value TimeZoneOffset(std::string_view name, std::int64_t seconds) {
  const std::size_t colon = name.find(':');
  if (colon == name.npos) return NamedZoneOffset(name, seconds);
  const auto read = [](std::string_view text, std::string& error) -> std::int64_t {
    const auto number = ParseInt(text);
    if (!number) error = "strconv.Atoi: parsing " + GoQuote(text) + ": invalid syntax";
    return number.value_or(0);
  };
  std::string error;
  const std::int64_t hours = read(name.substr(0, colon), error);
  if (!error.empty()) return Value::Error(error);
  const std::int64_t minutes = read(name.substr(colon + 1), error);
  if (!error.empty()) return Value::Error(error);
  constexpr std::int64_t kMost =
      1'000'000;  // Go accepts any number; larger ones are not times of this planet
  const std::int64_t bounded_hours = std::clamp(hours, -kMost, kMost);
  const std::int64_t bounded_minutes = std::clamp(minutes, -kMost, kMost);
  return Value::Int(60 * (bounded_hours * 60 + (name[0] == '-' ? -bounded_minutes : bounded_minutes)));
}

Value AddDuration(const Value& timestamp, std::int64_t duration) {
  const TimestampObject& t = timestamp.timestamp();
  std::int64_t seconds = t.seconds + duration / kNanosecondsPerSecond;
  std::int64_t nanoseconds = t.nanoseconds + duration % kNanosecondsPerSecond;
  if (nanoseconds < 0) {
    nanoseconds += kNanosecondsPerSecond;
    --seconds;
  } else if (nanoseconds >= kNanosecondsPerSecond) {
    nanoseconds -= kNanosecondsPerSecond;
    ++seconds;
  }
  if (seconds < kMinTimestamp || seconds > kMaxTimestamp) return TimestampOverflow();
  return Value::Timestamp(seconds, static_cast<std::int32_t>(nanoseconds), t.offset);
}

Value SubtractTimestamps(const Value& a, const Value& b) {
  const std::int64_t seconds = a.timestamp().seconds - b.timestamp().seconds;
  std::int64_t total = 0;
  if (__builtin_mul_overflow(seconds, kNanosecondsPerSecond, &total) ||
      __builtin_add_overflow(total, a.timestamp().nanoseconds - b.timestamp().nanoseconds, &total)) {
    return IntOverflow();
  }
  return Value::Duration(total);
}

}  // namespace berth::cel
