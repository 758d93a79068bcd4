#include "config/duration.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/go_duration.hpp"

namespace berth::config {
namespace {

// The error of time.ParseDuration for an invalid text.
std::string WhatIsWrong(std::string_view text) {
  const std::string whole = fmt::format("\"{}\"", text);
  std::string_view rest = text;
  if (!rest.empty() && (rest.front() == '-' || rest.front() == '+')) rest.remove_prefix(1);
  if (rest.empty()) return fmt::format("time: invalid duration {}", whole);
  while (!rest.empty()) {
    const auto digits = std::min(rest.find_first_not_of("0123456789."), rest.size());
    const std::string_view number = rest.substr(0, digits);
    if (number.find_first_of("0123456789") == std::string_view::npos || std::ranges::count(number, '.') > 1)
      break;
    rest.remove_prefix(digits);
    const auto letters = std::min(rest.find_first_of("0123456789."), rest.size());
    const std::string_view unit = rest.substr(0, letters);
    if (unit.empty()) return fmt::format("time: missing unit in duration {}", whole);
    static constexpr std::string_view kUnits[] = {"ns", "us", "µs", "μs", "ms", "s", "m", "h"};
    if (std::ranges::find(kUnits, unit) == std::end(kUnits))
      return fmt::format("time: unknown unit \"{}\" in duration {}", unit, whole);
    rest.remove_prefix(letters);
  }
  return fmt::format("time: invalid duration {}", whole);
}

}  // namespace

bool ReadDuration(StructReader& reader, std::string_view name, std::chrono::nanoseconds& out,
                  Problems& problems) {
  std::string text;
  if (problems.describing()) reader.Read(name, text, "duration");
  const Value* member = reader.Take(name);
  if (member == nullptr) return false;
  reader.Read(name, text);
  if (member->kind != Value::Kind::kString) return false;
  const auto duration = ParseGoDuration(text);
  if (!duration) {
    problems.Other(
        fmt::format("{}; expected {} like \"15s\" or \"1m30s\"", WhatIsWrong(text), reader.PathOf(name)),
        member->order);
    return false;
  }
  out = *duration;
  return true;
}

}  // namespace berth::config
