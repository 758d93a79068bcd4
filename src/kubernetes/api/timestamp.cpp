#include "kubernetes/api/timestamp.hpp"

#include <charconv>
#include <chrono>

namespace berth::api {
namespace {

// Reads fixed-width numbers and single characters from the start of a text.
class Cutter {
 public:
  explicit Cutter(std::string_view text) : rest_(text) {}

  int Number(std::size_t digits) {
    int number = 0;
    if (rest_.size() < digits || rest_[0] == '-') return Fail();
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + digits, number);
    if (error != std::errc() || end != rest_.data() + digits) return Fail();
    rest_.remove_prefix(digits);
    return number;
  }
  bool Take(std::string_view any_of) {
    if (rest_.empty() || any_of.find(rest_[0]) == any_of.npos) return false;
    last_ = rest_[0];
    rest_.remove_prefix(1);
    return true;
  }
  void Expect(std::string_view any_of) {
    if (!Take(any_of)) Fail();
  }
  void SkipDigits() {
    const auto end = rest_.find_first_not_of("0123456789");
    if (end == 0) Fail();
    rest_.remove_prefix(std::min(end, rest_.size()));
  }
  char last() const { return last_; }
  bool done() const { return fine_ && rest_.empty(); }

 private:
  int Fail() {
    fine_ = false;
    return 0;
  }
  std::string_view rest_;
  char last_ = 0;
  bool fine_ = true;
};

}  // namespace

std::optional<std::int64_t> ParseTimestamp(std::string_view text) {
  namespace chrono = std::chrono;
  Cutter in(text);
  const int year = in.Number(4);
  in.Expect("-");
  const int month = in.Number(2);
  in.Expect("-");
  const int day = in.Number(2);
  in.Expect("T");
  const int hour = in.Number(2);
  in.Expect(":");
  const int minute = in.Number(2);
  in.Expect(":");
  const int second = in.Number(2);
  if (in.Take(".,")) in.SkipDigits();
  in.Expect("Z+-");
  int offset_minutes = 0;
  if (in.last() != 'Z') {
    const int sign = in.last() == '-' ? -1 : 1;
    const int hours = in.Number(2);
    in.Expect(":");
    offset_minutes = sign * (hours * 60 + in.Number(2));
  }
  const chrono::year_month_day date{chrono::year(year), chrono::month(static_cast<unsigned>(month)),
                                    chrono::day(static_cast<unsigned>(day))};
  if (!in.done() || !date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const auto days = chrono::sys_days(date).time_since_epoch().count();
  return ((std::int64_t{days} * 24 + hour) * 60 + minute - offset_minutes) * 60 + second;
}

std::string FormatTimestamp(std::int64_t unix_seconds) {
  namespace chrono = std::chrono;
  const chrono::sys_seconds time{chrono::seconds(unix_seconds)};
  const auto midnight = chrono::floor<chrono::days>(time);
  const chrono::year_month_day date(midnight);
  const chrono::hh_mm_ss of_day(time - midnight);
  std::string text(std::string_view("0000-00-00T00:00:00Z"));
  const auto put = [&](std::size_t last, std::int64_t number) {
    for (std::size_t i = last; number > 0; --i, number /= 10) text[i] = static_cast<char>('0' + number % 10);
  };
  put(3, int{date.year()});
  put(6, unsigned{date.month()});
  put(9, unsigned{date.day()});
  put(12, of_day.hours().count());
  put(15, of_day.minutes().count());
  put(18, of_day.seconds().count());
  return text;
}

}  // namespace berth::api
