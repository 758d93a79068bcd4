#include "sandbox/apiserver/cron_schedule.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "base/ascii.hpp"
#include "base/go_duration.hpp"
#include "base/go_quote.hpp"

namespace berth::sandbox {
namespace {

struct CronField {
  std::int64_t low, high;
  std::string_view words;  // three letters each, for low, low + 1 ...
};
constexpr std::array<CronField, 5> kCronFields{{{0, 59, ""},
                                                {0, 23, ""},
                                                {1, 31, ""},
                                                {1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
                                                {0, 6, "sunmontuewedthufrisat"}}};
constexpr std::string_view kEvery = "@every ";

Expected<std::int64_t> ReadNumber(std::string_view text) {
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool two_signs = digits.size() != text.size() && digits.starts_with('-');
  if (two_signs || error == std::errc::invalid_argument || end != digits.data() + digits.size()) {
    return Invalid(fmt::format("failed to parse int from {}: strconv.Atoi: parsing {}: invalid syntax", text,
                               GoQuote(text)));
  }
  if (error != std::errc()) {
    return Invalid(fmt::format("failed to parse int from {}: strconv.Atoi: parsing {}: value out of range",
                               text, GoQuote(text)));
  }
  if (number < 0) return Invalid(fmt::format("negative number ({}) not allowed: {}", number, text));
  return number;
}

Expected<std::int64_t> ReadNumberOrName(std::string_view text, const CronField& field) {
  if (text.size() == 3) {
    const auto at = field.words.find(ToAsciiLower(text));
    if (at != std::string_view::npos && at % 3 == 0) return field.low + static_cast<std::int64_t>(at / 3);
  }
  return ReadNumber(text);
}

// `star` becomes true for "*", but not for a star with a step above 1: robfig/cron treats that as a
// restriction.
Expected<void> AddPart(std::string_view part, const CronField& field, std::bitset<64>& bits, bool& star) {
  const auto slash = part.find('/');
  const std::string_view range = part.substr(0, slash);
  const auto dash = range.find('-');
  const std::string_view low = range.substr(0, dash);
  std::int64_t first = field.low, last = field.high, step = 1;
  const bool any = low == "*" || low == "?";
  if (!any) {
    BERTH_TRY(first, ReadNumberOrName(low, field));
    last = first;
    if (dash != std::string_view::npos) {
      if (std::ranges::count(range, '-') > 1) return Invalid(fmt::format("too many hyphens: {}", part));
      BERTH_TRY(last, ReadNumberOrName(range.substr(dash + 1), field));
    }
  }
  if (slash != std::string_view::npos) {
    if (std::ranges::count(part, '/') > 1) return Invalid(fmt::format("too many slashes: {}", part));
    BERTH_TRY(step, ReadNumber(part.substr(slash + 1)));
    if (dash == std::string_view::npos) last = field.high;
  }
  if (first < field.low) {
    return Invalid(fmt::format("beginning of range ({}) below minimum ({}): {}", first, field.low, part));
  }
  if (last > field.high)
    return Invalid(fmt::format("end of range ({}) above maximum ({}): {}", last, field.high, part));
  if (first > last)
    return Invalid(fmt::format("beginning of range ({}) beyond end of range ({}): {}", first, last, part));
  if (step == 0) return Invalid(fmt::format("step of range should be a positive number: {}", part));
  star = star || (any && step == 1);
  step = std::min<std::int64_t>(step, 64);  // beyond every range already, and value + step must not overflow
  for (std::int64_t value = first; value <= last; value += step) bits.set(static_cast<std::size_t>(value));
  return {};
}

std::string_view Expand(std::string_view text) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"@hourly", "0 * * * *"},  {"@daily", "0 0 * * *"},   {"@midnight", "0 0 * * *"},
      {"@weekly", "0 0 * * 0"},  {"@monthly", "0 0 1 * *"}, {"@yearly", "0 0 1 1 *"},
      {"@annually", "0 0 1 1 *"}};
  for (const auto& [name, meaning] : kNames) {
    if (text == name) return meaning;
  }
  return text;
}

}  // namespace

Expected<CronSchedule> CronSchedule::Parse(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  if (text.empty()) return Invalid("empty spec string");
  CronSchedule schedule;
  if (text.starts_with(kEvery)) {
    const auto period = text.substr(kEvery.size());
    const auto every = ParseGoDuration(period);
    if (!every) {
      return Invalid(
          fmt::format("failed to parse duration {}: time: invalid duration {}", text, GoQuote(period)));
    }
    schedule.interval_ = std::max(std::chrono::floor<std::chrono::seconds>(*every), std::chrono::seconds(1));
    return schedule;
  }
  const std::string_view expanded = Expand(text);
  if (expanded.starts_with('@')) return Invalid(fmt::format("unrecognized descriptor: {}", text));
  std::vector<std::string_view> fields;
  for (std::size_t at = 0; (at = expanded.find_first_not_of(kSpace, at)) != std::string_view::npos;) {
    const auto end = std::min(expanded.find_first_of(kSpace, at), expanded.size());
    fields.push_back(expanded.substr(at, end - at));
    at = end;
  }
  if (fields.size() != kCronFields.size()) {
    return Invalid(
        fmt::format("expected exactly 5 fields, found {}: [{}]", fields.size(), fmt::join(fields, " ")));
  }
  std::bitset<64>* bits[] = {&schedule.minutes_, &schedule.hours_, &schedule.days_, &schedule.months_,
                             &schedule.weekdays_};
  std::array<bool, 5> star{};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    std::string_view rest = fields[i];
    while (!rest.empty()) {
      const auto part = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(part.size() + 1, rest.size()));
      if (!part.empty()) BERTH_RETURN_IF_ERROR(AddPart(part, kCronFields[i], *bits[i], star[i]));
    }
  }
  schedule.any_day_ = star[2];
  schedule.any_weekday_ = star[4];
  return schedule;
}

std::optional<WallTime> CronSchedule::Next(WallTime time) const {
  using namespace std::chrono;
  if (interval_) {
    const auto start = floor<seconds>(time);
    if (*interval_ >= floor<seconds>(WallTime::max()) - start) return std::nullopt;
    return start + *interval_;
  }
  auto minute = floor<minutes>(time) + minutes(1);
  const auto limit = std::min(minute + days(5 * 366), floor<minutes>(WallTime::max()));
  while (minute < limit) {
    const auto day = floor<days>(minute);
    const year_month_day date{day};
    const bool in_month = months_.test(static_cast<unsigned>(date.month()));
    const bool by_day = days_.test(static_cast<unsigned>(date.day()));
    const bool by_weekday = weekdays_.test(weekday(day).c_encoding());
    const bool matches = any_day_ || any_weekday_ ? by_day && by_weekday : by_day || by_weekday;
    if (!in_month || !matches) {
      minute = day + days(1);
      continue;
    }
    const auto of_day = minute - day;
    if (!hours_.test(static_cast<std::size_t>(duration_cast<hours>(of_day).count()))) {
      minute = floor<hours>(minute) + hours(1);
      continue;
    }
    if (minutes_.test(static_cast<std::size_t>(of_day.count() % 60))) return WallTime(minute);
    minute += minutes(1);
  }
  return std::nullopt;
}

// Doubles the searched period each time: the last time is mostly near, `after` may be years ago.
std::optional<WallTime> CronSchedule::Last(WallTime after, WallTime until) const {
  if (interval_) {
    // In seconds: the nanoseconds from a time long ago may be no Duration.
    const auto start = std::chrono::floor<std::chrono::seconds>(after);
    const auto times = (std::chrono::floor<std::chrono::seconds>(until) - start) / *interval_;
    return times > 0 ? std::optional<WallTime>(start + times * *interval_) : std::nullopt;
  }
  const WallTime earliest = std::max(after, until - std::chrono::days(10 * 366));
  for (Duration back = std::chrono::minutes(1);; back *= 2) {
    const WallTime from = std::max(earliest, until - back);
    std::optional<WallTime> last;
    for (auto next = Next(from); next && *next <= until; next = Next(*next)) last = next;
    if (last || from == earliest) return last;
  }
}

}  // namespace berth::sandbox
