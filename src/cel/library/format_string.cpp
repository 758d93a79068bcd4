#include "cel/library/format_string.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/go_quote.hpp"
#include "base/utf8.hpp"
#include "cel/numbers.hpp"
#include "cel/times.hpp"

namespace berth::cel {
namespace {

constexpr int kDefaultPrecision = 6;
constexpr int kMaxPrecision = 1'000'000;  // Go's formatting gives up beyond

// Either a text or an error.
struct Formatted {
  std::string text;
  std::string error;
};

Formatted FormatAsString(const Value& value, Budget& budget);

std::string FixedDigits(double value, int precision) { return fmt::format("{:.{}f}", value, precision); }

// A value within a list or map.
Formatted FormatElement(const Value& value, Budget& budget) {
  switch (value.kind()) {
    case ValueKind::kTimestamp:
      return {"timestamp(" + GoQuote(FormatTimestamp(value.timestamp())) + ")", {}};
    case ValueKind::kDuration:
      return {"duration(" + GoQuote(DurationSeconds(value.as_int())) + ")", {}};
    case ValueKind::kDouble: {
      const double number = value.as_double();
      if (!std::isfinite(number)) return {"\"" + FormatGoDouble(number) + "\"", {}};
      return {FixedDigits(number, kDefaultPrecision), {}};
    }
    case ValueKind::kOptional:
    case ValueKind::kOpaque:
      return {{}, "no formatting function for " + RuntimeTypeName(value)};
    default:
      break;
  }
  Formatted formatted = FormatAsString(value, budget);
  if (value.kind() == ValueKind::kString) formatted.text = GoQuote(formatted.text);
  if (value.kind() == ValueKind::kBytes) formatted.text = "b" + GoQuote(formatted.text);
  return formatted;
}

Formatted FormatList(const ListObject& list, Budget& budget) {
  Formatted result{"[", {}};
  for (std::int64_t i = 0; i < list.size; ++i) {
    Formatted element = FormatElement(list.At(i), budget);
    if (!element.error.empty() || !budget.Spend(1 + element.text.size())) return element;
    if (i > 0) result.text += ", ";
    result.text += element.text;
  }
  result.text += "]";
  return result;
}

Formatted FormatMap(const MapObject& map, Budget& budget) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& [key, value] : map.entries) {
    switch (key.kind()) {
      case ValueKind::kString:
      case ValueKind::kBool:
      case ValueKind::kInt:
      case ValueKind::kUint:
        break;
      default:
        return {{}, "no formatting function for map key of type " + RuntimeTypeName(key)};
    }
    Formatted key_text = FormatElement(key, budget);
    Formatted value_text = FormatElement(value, budget);
    if (!value_text.error.empty() || !budget.Spend(1 + key_text.text.size() + value_text.text.size())) {
      return value_text;
    }
    pairs.emplace_back(std::move(key_text.text), std::move(value_text.text));
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  Formatted result{"{", {}};
  for (const auto& [key, value] : pairs) {
    if (result.text.size() > 1) result.text += ", ";
    result.text.append(key).append(":").append(value);
  }
  result.text += "}";
  return result;
}

Formatted FormatAsString(const Value& value, Budget& budget) {
  switch (value.kind()) {
    case ValueKind::kList:
      return FormatList(value.list(), budget);
    case ValueKind::kMap:
      return FormatMap(value.map(), budget);
    case ValueKind::kNull:
      return {"null", {}};
    case ValueKind::kBool:
      return {value.as_bool() ? "true" : "false", {}};
    case ValueKind::kInt:
      return {std::to_string(value.as_int()), {}};
    case ValueKind::kUint:
      return {std::to_string(value.as_uint()), {}};
    case ValueKind::kDouble:
      return {FormatGoDouble(value.as_double()), {}};
    case ValueKind::kString:
      return {budget.Spend(value.text().size()) ? value.text() : std::string(), {}};
    case ValueKind::kTimestamp:
      return {FormatTimestamp(value.timestamp()), {}};
    case ValueKind::kDuration:
      return {DurationSeconds(value.as_int()), {}};
    case ValueKind::kType:
      return {value.type()->name, {}};
    case ValueKind::kBytes:
      if (IsUtf8(value.text())) return {budget.Spend(value.text().size()) ? value.text() : std::string(), {}};
      return {{},
              "could not convert argument \"invalid UTF-8 in bytes, cannot convert to string\" to string"};
    default:
      return {{}, WrongFormatType('s', RuntimeTypeName(value))};
  }
}

// Inserts commas between groups of three digits.
std::string Grouped(const std::string& digits) {
  const std::size_t begin = digits.starts_with('-') ? 1 : 0;
  const std::size_t end = std::min(digits.find('.'), digits.size());
  std::string grouped;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > begin && i < end && (end - i) % 3 == 0) grouped += ',';
    grouped += digits[i];
  }
  return grouped;
}

std::string SpecialNumber(double value) {
  if (std::isnan(value)) return "NaN";
  return value < 0 ? "-\xe2\x88\x9e" : "\xe2\x88\x9e";
}

// "1.052000×10⁰³"
std::string ScientificText(double value) {
  if (!std::isfinite(value)) return SpecialNumber(value);
  const std::string digits = fmt::format("{:.{}e}", value, kDefaultPrecision);
  const std::size_t e = digits.find('e');
  constexpr const char* kSuperscripts[] = {"\xe2\x81\xb0", "\xc2\xb9",     "\xc2\xb2",     "\xc2\xb3",
                                           "\xe2\x81\xb4", "\xe2\x81\xb5", "\xe2\x81\xb6", "\xe2\x81\xb7",
                                           "\xe2\x81\xb8", "\xe2\x81\xb9"};
  std::string text = digits.substr(0, e) + "\xc3\x97" + "10";
  for (const char c : digits.substr(e + 1)) {
    if (c == '-') text += "\xe2\x81\xbb";
    if (c >= '0' && c <= '9') text += kSuperscripts[c - '0'];
  }
  return text;
}

// With spaces before it, `width` characters long.
std::string Padded(const std::string& text, int width) {
  const auto length = std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; });
  return std::string(static_cast<std::size_t>(std::max<std::ptrdiff_t>(width - length, 0)), ' ') + text;
}

Formatted FormatReal(const FormatClause& clause, const Value& value, Budget& budget) {
  std::optional<double> number;
  if (value.kind() == ValueKind::kDouble) number = value.as_double();
  if (value.kind() == ValueKind::kString) {
    for (const char* name : {"NaN", "Infinity", "-Infinity"}) {
      if (value.text() == name) number = ParseDouble(name);
    }
  }
  if (!number) return {{}, WrongFormatType(clause.kind, RuntimeTypeName(value))};
  if (*number == 0) number = 0.0;  // without the sign
  const int precision = clause.precision.value_or(kDefaultPrecision);
  if (!budget.Spend(static_cast<std::uint64_t>(precision))) return {};
  // cel-go uses the precision of %e as the width, and always prints six decimals.
  if (clause.kind == 'e') return {Padded(ScientificText(*number), precision), {}};
  if (!std::isfinite(*number)) return {SpecialNumber(*number), {}};
  if (precision > kMaxPrecision) return {"%!(BADPREC)f", {}};
  return {Grouped(FixedDigits(*number, precision)), {}};
}

std::string InBase(std::uint64_t magnitude, bool negative, int base, bool upper) {
  std::string digits;
  do {
    const int digit = static_cast<int>(magnitude % static_cast<std::uint64_t>(base));
    digits += static_cast<char>(digit < 10 ? '0' + digit : (upper ? 'A' : 'a') + digit - 10);
    magnitude /= static_cast<std::uint64_t>(base);
  } while (magnitude > 0);
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

Formatted FormatInteger(const FormatClause& clause, const Value& value, Budget& budget) {
  const int base = clause.kind == 'b' ? 2 : clause.kind == 'o' ? 8 : clause.kind == 'd' ? 10 : 16;
  const bool upper = clause.kind == 'X';
  switch (value.kind()) {
    case ValueKind::kInt: {
      const bool negative = value.as_int() < 0;
      return {InBase(negative ? 0 - value.as_uint() : value.as_uint(), negative, base, upper), {}};
    }
    case ValueKind::kUint:
      return {InBase(value.as_uint(), false, base, upper), {}};
    case ValueKind::kBool:
      if (base == 2) return {value.as_bool() ? "1" : "0", {}};
      break;
    case ValueKind::kString:
    case ValueKind::kBytes: {
      if (base != 16) break;
      if (!budget.Spend(2 * value.text().size())) return {};
      std::string hex;
      for (const unsigned char c : value.text())
        hex += fmt::format(fmt::runtime(upper ? "{:02X}" : "{:02x}"), c);
      return {hex, {}};
    }
    default:
      break;
  }
  return {{}, WrongFormatType(clause.kind, RuntimeTypeName(value))};
}

// Behind the percent sign. Returns an error, or an empty text.
std::string ParseClause(std::string_view& rest, FormatClause& clause) {
  if (rest.starts_with('.')) {
    std::size_t end = 1;
    while (end < rest.size() && rest[end] >= '0' && rest[end] <= '9') ++end;
    if (end == rest.size()) return "error while parsing precision: could not find end of precision specifier";
    const std::string_view digits = rest.substr(1, end - 1);
    const auto precision = ParseInt(digits);
    if (!precision || *precision > 2'147'483'647) {
      return "error while parsing precision: error while converting precision to integer: strconv.Atoi: "
             "parsing " +
             GoQuote(digits) + ": " + (digits.empty() ? "invalid syntax" : "value out of range");
    }
    clause.precision = static_cast<int>(*precision);
    rest.remove_prefix(end);
  }
  clause.kind = rest[0];
  if (std::string_view("sdfebxXo").find(clause.kind) == std::string_view::npos) {
    std::string shown;
    const auto c = static_cast<unsigned char>(clause.kind);
    if (c < 0x80)
      shown += clause.kind;
    else
      shown += {static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 0x3f))};
    return "unrecognized formatting clause \"" + shown + "\"";
  }
  rest.remove_prefix(1);
  return {};
}

}  // namespace

std::string WrongFormatType(char kind, std::string_view type) {
  const auto message = [&]() -> std::string_view {
    switch (kind) {
      case 'd':
        return "decimal clause can only be used on integers";
      case 'f':
        return "fixed-point clause can only be used on doubles";
      case 'e':
        return "scientific clause can only be used on doubles";
      case 'b':
        return "only integers and bools can be formatted as binary";
      case 'o':
        return "octal clause can only be used on integers";
      case 'x':
      case 'X':
        return "only integers, byte buffers, and strings can be formatted as hex";
      default:
        return "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, "
               "durations, and timestamps";
    }
  }();
  return fmt::format("{}, was given {}", message, type);
}

std::string ParseFormat(std::string_view format, std::int64_t count, bool constant,
                        const std::function<void(std::string_view)>& text,
                        const std::function<std::string(const FormatClause&, std::int64_t)>& clause,
                        std::int64_t& used) {
  used = 0;
  while (!format.empty()) {
    const std::size_t percent = std::min(format.find('%'), format.size());
    if (percent > 0) text(format.substr(0, percent));
    format.remove_prefix(percent);
    if (format.empty()) break;
    if (format.starts_with("%%")) {
      text("%");
      format.remove_prefix(2);
      continue;
    }
    if (constant && format.size() == 1) return "unexpected end of string";
    if (used >= count) return fmt::format("index {} out of range", used);
    if (format.size() == 1) return "unexpected end of string";
    format.remove_prefix(1);
    FormatClause parsed;
    std::string error = ParseClause(format, parsed);
    if (!error.empty()) return "could not parse formatting clause: " + error;
    error = clause(parsed, used++);
    if (!error.empty()) return "error during formatting: " + error;
  }
  return {};
}

std::string FormatArgument(const FormatClause& clause, const Value& value, std::string& out, Budget& budget) {
  Formatted formatted;
  switch (clause.kind) {
    case 's':
      formatted = FormatAsString(value, budget);
      break;
    case 'f':
    case 'e':
      formatted = FormatReal(clause, value, budget);
      break;
    default:
      formatted = FormatInteger(clause, value, budget);
  }
  out += formatted.text;
  return formatted.error;
}

}  // namespace berth::cel
