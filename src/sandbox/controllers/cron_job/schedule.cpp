#include "sandbox/controllers/cron_job/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string>
#include <vector>

#include "base/ascii.hpp"

namespace berth::sandbox {
namespace {

struct FieldRange {
  std::string_view name;
  int low, high;
  std::string_view words;  // three letters each, for low, low + 1 ...
};
constexpr std::array<FieldRange, 5> kFields{{{"minute", 0, 59, ""},
                                             {"hour", 0, 23, ""},
                                             {"day of month", 1, 31, ""},
                                             {"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
                                             {"day of week", 0, 7, "sunmontuewedthufrisat"}}};

std::optional<int> ReadNumber(std::string_view text, const FieldRange& range) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size())
    return number >= range.low && number <= range.high ? std::optional(number) : std::nullopt;
  if (text.size() != 3 || range.words.empty()) return std::nullopt;
  const auto at = range.words.find(ToAsciiLower(text));
  if (at == std::string_view::npos || at % 3 != 0) return std::nullopt;
  return range.low + static_cast<int>(at / 3);
}

// `star` becomes true for "*", but not for a star with a step above 1: robfig/cron treats that as a
// restriction.
bool AddPart(std::string_view part, const FieldRange& range, std::bitset<64>& bits, bool& star) {
  int step = 1;
  const auto slash = part.find('/');
  if (slash != std::string_view::npos) {
    const auto text = part.substr(slash + 1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
    if (error != std::errc() || end != text.data() + text.size() || step < 1) return false;
    step = std::min(step, 64);  // beyond every range already, and value + step must not overflow
    part = part.substr(0, slash);
  }
  int first = range.low, last = range.high;
  if (part == "*" || part == "?") {
    star = star || step == 1;
  } else {
    const auto dash = part.find('-');
    const auto low = ReadNumber(part.substr(0, dash), range);
    if (!low) return false;
    first = *low;
    last = slash == std::string_view::npos ? first : range.high;
    if (dash != std::string_view::npos) {
      const auto high = ReadNumber(part.substr(dash + 1), range);
      if (!high || *high < first) return false;
      last = *high;
    }
  }
  for (int value = first; value <= last; value += step) bits.set(static_cast<std::size_t>(value));
  return true;
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
  text = Expand(text);
  std::vector<std::string_view> fields;
  for (std::size_t at = 0; (at = text.find_first_not_of(' ', at)) != std::string_view::npos;) {
    const auto end = std::min(text.find(' ', at), text.size());
    fields.push_back(text.substr(at, end - at));
    at = end;
  }
  if (fields.size() != 5) return Invalid(fmt::format("expected exactly 5 fields, found {}", fields.size()));
  CronSchedule schedule;
  std::bitset<64>* bits[] = {&schedule.minutes_, &schedule.hours_, &schedule.days_, &schedule.months_,
                             &schedule.weekdays_};
  std::array<bool, 5> star{};
  for (std::size_t i = 0; i < 5; ++i) {
    std::string_view rest = fields[i];
    while (!rest.empty()) {
      const auto part = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(part.size() + 1, rest.size()));
      if (!AddPart(part, kFields[i], *bits[i], star[i]))
        return Invalid(fmt::format("{}: cannot read \"{}\"", kFields[i].name, part));
    }
  }
  schedule.any_day_ = star[2];
  schedule.any_weekday_ = star[4];
  if (schedule.weekdays_.test(7)) schedule.weekdays_.set(0);
  return schedule;
}

std::optional<WallTime> CronSchedule::Next(WallTime time) const {
  using namespace std::chrono;
  auto minute = floor<minutes>(time) + minutes(1);
  const auto limit = minute + days(5 * 366);
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
  const WallTime earliest = std::max(after, until - std::chrono::days(10 * 366));
  for (Duration back = std::chrono::minutes(1);; back *= 2) {
    const WallTime from = std::max(earliest, until - back);
    std::optional<WallTime> last;
    for (auto next = Next(from); next && *next <= until; next = Next(*next)) last = next;
    if (last || from == earliest) return last;
  }
}

}  // namespace berth::sandbox
