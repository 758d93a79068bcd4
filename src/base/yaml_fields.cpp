#include "base/yaml_fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/go_duration.hpp"
#include "base/nearest.hpp"

namespace berth::yaml {
namespace {

std::string ShowValue(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kNull:
      return "null";
    case Value::Kind::kList:
      return "a list";
    case Value::Kind::kMap:
      return "an object";
    case Value::Kind::kString:
      return fmt::format("\"{}\"", value.text.substr(0, 100));
    case Value::Kind::kBool:
    case Value::Kind::kNumber:
      return value.text;
  }
  return value.text;
}

template <class T>
std::optional<T> ParseNumber(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

constexpr std::string_view kDuration = R"(a duration such as "90s" or "1h30m")";

std::optional<Duration> DurationOf(const Value& value) {
  if (value.kind != Value::Kind::kString) return std::nullopt;
  const auto parsed = ParseGoDuration(value.text);
  return parsed && *parsed >= Duration::zero() ? parsed : std::nullopt;
}

}  // namespace

void FieldErrors::Add(const std::string& path, std::string_view error) {
  errors_.push_back(path.empty() ? std::string(error) : fmt::format("{}: {}", path, error));
}

Error FieldErrors::ToError() const {
  constexpr std::size_t kShown = 10;
  std::vector<std::string> shown(
      errors_.begin(), errors_.begin() + static_cast<std::ptrdiff_t>(std::min(errors_.size(), kShown)));
  if (errors_.size() > kShown) shown.push_back(fmt::format("and {} more errors", errors_.size() - kShown));
  return {ErrorCode::kInvalid, fmt::format("{}", fmt::join(shown, "\n  "))};
}

Fields::Fields(const Value& value, std::string path, FieldErrors& errors)
    : value_(value), path_(std::move(path)), errors_(errors) {
  if (value.kind != Value::Kind::kMap)
    errors_.Add(path_, fmt::format("expected an object, got {}", ShowValue(value)));
}

bool Fields::Has(std::string_view name) const {
  const Value* member = value_.Find(name);
  return member != nullptr && member->kind != Value::Kind::kNull;
}

std::string Fields::PathOf(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

const Value* Fields::Take(std::string_view name) {
  known_.emplace_back(name);
  return Has(name) ? value_.Find(name) : nullptr;
}

void Fields::Wrong(std::string_view name, const Value& value, std::string_view expected) {
  Add(name, fmt::format("expected {}, got {}", expected, ShowValue(value)));
}

const Value* Fields::TakeKind(std::string_view name, Value::Kind kind, std::string_view expected) {
  const Value* member = Take(name);
  if (member == nullptr || member->kind == kind) return member;
  Wrong(name, *member, expected);
  return nullptr;
}

std::string Fields::Text(std::string_view name, std::string otherwise) {
  const Value* member = TakeKind(name, Value::Kind::kString, "a text");
  return member == nullptr ? otherwise : member->text;
}

void Fields::Expect(std::string_view name, std::string_view text) {
  if (const std::string given = Text(name); given != text)
    Add(name, fmt::format("expected {}, got \"{}\"", text, given));
}

std::string Fields::Choice(std::string_view name, const std::vector<std::string>& choices) {
  std::string text = Text(name, choices.front());
  if (std::ranges::find(choices, text) != choices.end()) return text;
  const std::string nearest = Nearest(text, choices);
  Add(name, fmt::format("expected one of {}, got \"{}\"{}", fmt::join(choices, ", "), text,
                        nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest)));
  return choices.front();
}

bool Fields::Bool(std::string_view name, bool otherwise) {
  const Value* member = TakeKind(name, Value::Kind::kBool, "true or false");
  return member == nullptr ? otherwise : member->text == "true";
}

std::int64_t Fields::Integer(std::string_view name, std::int64_t least, std::int64_t most,
                             std::int64_t otherwise) {
  const std::string expected = fmt::format("a whole number from {} to {}", least, most);
  const Value* member = TakeKind(name, Value::Kind::kNumber, expected);
  if (member == nullptr) return otherwise;
  const auto number = ParseNumber<std::int64_t>(member->text);
  if (number && *number >= least && *number <= most) return *number;
  Wrong(name, *member, expected);
  return otherwise;
}

double Fields::Real(std::string_view name, double least, double most, double otherwise) {
  const std::string expected = fmt::format("a number from {} to {}", least, most);
  const Value* member = TakeKind(name, Value::Kind::kNumber, expected);
  if (member == nullptr) return otherwise;
  const auto number = ParseNumber<double>(member->text);
  if (number && *number >= least && *number <= most) return *number;
  Wrong(name, *member, expected);
  return otherwise;
}

Duration Fields::Time(std::string_view name, Duration otherwise, Duration least) {
  const Value* member = Take(name);
  if (member == nullptr) return otherwise;
  const auto duration = DurationOf(*member);
  if (duration && *duration >= least) return *duration;
  Wrong(name, *member,
        least == Duration::zero() ? std::string(kDuration)
                                  : fmt::format("{} of at least {}", kDuration, FormatGoDuration(least)));
  return otherwise;
}

std::vector<Duration> Fields::Times(std::string_view name) {
  std::vector<Duration> times;
  ForEach(name, [&](const Value& item, const std::string& path) {
    const auto duration = DurationOf(item);
    if (!duration) return errors_.Add(path, fmt::format("expected {}, got {}", kDuration, ShowValue(item)));
    times.push_back(*duration);
  });
  return times;
}

double Fields::Rate(std::string_view name) {
  const Value* member = Take(name);
  if (member == nullptr) return 0;
  constexpr double kMost = 1e6;  // per second
  const std::string& text = member->text;
  const std::size_t slash = text.find('/');
  if (member->kind == Value::Kind::kString && slash != std::string::npos) {
    const auto number = ParseNumber<double>(std::string_view(text).substr(0, slash));
    const std::string_view unit = std::string_view(text).substr(slash + 1);
    const double seconds = unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
    if (number && std::isfinite(*number) && *number > 0 && seconds > 0 && *number / seconds <= kMost)
      return *number / seconds;
  }
  Wrong(name, *member, R"(a rate such as "50/s", "3/m" or "2.5/h", at most 1000000/s)");
  return 0;
}

std::vector<std::string> Fields::Texts(std::string_view name) {
  std::vector<std::string> texts;
  ForEach(name, [&](const Value& item, const std::string& path) {
    if (item.kind != Value::Kind::kString)
      return errors_.Add(path, fmt::format("expected a text, got {}", ShowValue(item)));
    texts.push_back(item.text);
  });
  return texts;
}

void Fields::Finish() {
  for (const auto& [name, member] : value_.members) {
    if (std::ranges::find(known_, name) != known_.end()) continue;
    const std::string nearest = Nearest(name, known_);
    Add(name, fmt::format("unknown field; expected {}{}", fmt::join(known_, ", "),
                          nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest)));
  }
}

}  // namespace berth::yaml
