#include "cel/numbers.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/ascii.hpp"

namespace berth::cel {
namespace {

constexpr double kTwoTo63 = 9223372036854775808.0;
constexpr double kTwoTo64 = 18446744073709551616.0;

std::string NotFinite(double value) { return std::isnan(value) ? "NaN" : value < 0 ? "-Inf" : "+Inf"; }

std::optional<double> ParseNamedDouble(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (EqualsIgnoringAsciiCase(text, "inf") || EqualsIgnoringAsciiCase(text, "infinity")) {
    return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }
  return std::nullopt;
}

// [sign] digits [. digits] [exponent], decimal or hexadecimal with a binary exponent.
bool IsDoubleSyntax(std::string_view text) {
  std::size_t at = !text.empty() && (text[0] == '+' || text[0] == '-') ? 1 : 0;
  const bool hex = text.substr(at).starts_with("0x") || text.substr(at).starts_with("0X");
  if (hex) at += 2;
  const auto is_digit = [hex](char c) {
    return IsAsciiDigit(c) || (hex && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')));
  };
  std::size_t digits = 0;
  bool point = false;
  for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !point)); ++at) {
    if (text[at] == '.')
      point = true;
    else
      ++digits;
  }
  if (digits == 0) return false;
  if (at == text.size()) return !hex;
  const char marker = text[at] >= 'A' && text[at] <= 'Z' ? static_cast<char>(text[at] + 32) : text[at];
  if (marker != (hex ? 'p' : 'e')) return false;
  ++at;
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
  return at < text.size() &&
         std::all_of(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), IsAsciiDigit);
}

// The shortest digits that identify a number, as "-d.ddde+xx".
struct Scientific {
  explicit Scientific(double value) {
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
    text = {buffer, static_cast<std::size_t>(end - buffer)};
    mantissa = text.substr(0, text.find('e'));
    std::string_view power = text.substr(mantissa.size() + 1);
    if (power.starts_with('+')) power.remove_prefix(1);  // which from_chars does not accept
    std::from_chars(power.data(), power.data() + power.size(), exponent);
  }
  Scientific(const Scientific&) = delete;
  Scientific& operator=(const Scientific&) = delete;

  char buffer[40];
  std::string_view text;
  std::string_view mantissa;
  int exponent = 0;
};

}  // namespace

std::optional<std::int64_t> TruncateToInt(double value) {
  if (std::isnan(value) || value <= -kTwoTo63 || value >= kTwoTo63) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::optional<std::uint64_t> TruncateToUint(double value) {
  if (std::isnan(value) || value < 0 || value >= kTwoTo64) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

std::optional<std::int64_t> ExactInt(double value) {
  const auto integer = TruncateToInt(value);
  return integer && static_cast<double>(*integer) == value ? integer : std::nullopt;
}

std::optional<std::uint64_t> ExactUint(double value) {
  const auto integer = TruncateToUint(value);
  return integer && static_cast<double>(*integer) == value ? integer : std::nullopt;
}

std::optional<std::int64_t> ParseInt(std::string_view text, int base) {
  const bool plus = text.starts_with('+');
  if (plus) text.remove_prefix(1);
  if (plus && text.starts_with('-')) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> ParseUint(std::string_view text, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> ParseDouble(std::string_view text) {
  if (EqualsIgnoringAsciiCase(text, "nan")) return std::numeric_limits<double>::quiet_NaN();
  if (const auto named = ParseNamedDouble(text)) return named;
  if (!IsDoubleSyntax(text)) return std::nullopt;
  const std::string terminated(text);
  const double value = std::strtod(terminated.c_str(), nullptr);
  if (std::isinf(value)) return std::nullopt;
  return value;
}

std::string FormatGoDouble(double value) {
  if (!std::isfinite(value)) return NotFinite(value);
  const Scientific number(value);
  if (number.exponent < -4 || number.exponent >= 6) return std::string(number.text);
  return FormatFixed(value);
}

std::string FormatFixed(double value) {
  if (!std::isfinite(value)) return NotFinite(value);
  const Scientific number(value);
  const int exponent = number.exponent;
  const bool negative = number.mantissa.starts_with('-');
  std::string digits;  // padded with zeros below
  for (const char c : number.mantissa.substr(negative)) {
    if (c != '.') digits += c;
  }
  if (exponent < 0) {
    digits.insert(0, static_cast<std::size_t>(-exponent), '0');
    digits.insert(1, ".");
  } else {
    const auto whole = static_cast<std::size_t>(exponent) + 1;
    if (digits.size() < whole) digits.append(whole - digits.size(), '0');
    if (digits.size() > whole) digits.insert(whole, ".");
  }
  return negative ? "-" + digits : digits;
}

}  // namespace berth::cel
