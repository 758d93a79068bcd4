#include "base/go_scalars.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "base/go_quote.hpp"

namespace berth {
namespace {

auto Wrong(std::string_view function, std::string_view text, std::string_view why) {
  return Invalid(fmt::format("strconv.{}: parsing {}: {}", function, GoQuote(text), why));
}

// An underscore is valid only between two digits; the prefix of a base counts as a digit.
bool UnderscoresAreFine(std::string_view digits, bool prefixed) {
  bool after_digit = prefixed;
  for (const char c : digits) {
    if (c == '_' && !after_digit) return false;
    after_digit = c != '_' && std::isxdigit(static_cast<unsigned char>(c)) != 0;
  }
  return !digits.ends_with('_') && !digits.contains("_.");
}

std::string WithoutUnderscores(std::string_view digits) {
  std::string plain(digits);
  std::erase(plain, '_');
  return plain;
}

bool TakeSign(std::string_view& text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  return negative;
}

struct Digits {
  std::string_view text;
  int base = 10;
  bool prefixed = false;
};

Digits BaseOf(std::string_view digits) {
  if (digits.size() < 2 || digits[0] != '0') return {digits};
  switch (std::tolower(static_cast<unsigned char>(digits[1]))) {
    case 'x':
      return {digits.substr(2), 16, true};
    case 'o':
      return {digits.substr(2), 8, true};
    case 'b':
      return {digits.substr(2), 2, true};
    default:
      return {digits.substr(1), 8, true};
  }
}

// `digits`: `text` without its sign and prefix.
Expected<std::int64_t> ReadDigits(std::string_view text, bool negative, std::string_view digits, int base,
                                  int bits) {
  std::uint64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, value, base);
  if (error == std::errc::invalid_argument || at != end) return Wrong("ParseInt", text, "invalid syntax");
  const std::uint64_t limit = (std::uint64_t{1} << (bits - 1)) - (negative ? 0 : 1);
  if (error == std::errc::result_out_of_range || value > limit)
    return Wrong("ParseInt", text, "value out of range");
  return static_cast<std::int64_t>(negative ? ~value + 1 : value);
}

}  // namespace

Expected<std::int64_t> ParseGoInt(std::string_view text, int bits) {
  std::string_view rest = text;
  const bool negative = TakeSign(rest);
  const Digits digits = BaseOf(rest);
  if (!UnderscoresAreFine(digits.text, digits.prefixed)) return Wrong("ParseInt", text, "invalid syntax");
  return ReadDigits(text, negative, WithoutUnderscores(digits.text), digits.base, bits);
}

Expected<std::int64_t> ParseGoDecimal(std::string_view text, int bits) {
  std::string_view rest = text;
  const bool negative = TakeSign(rest);
  return ReadDigits(text, negative, rest, 10, bits);
}

Expected<std::uint32_t> ParseGoLevel(std::string_view text) {
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::invalid_argument || at != end) return Wrong("ParseUint", text, "invalid syntax");
  if (error != std::errc{} || value > std::numeric_limits<std::int32_t>::max())
    return Wrong("ParseUint", text, "value out of range");
  return value;
}

Expected<double> ParseGoFloat32(std::string_view text) {
  std::string_view rest = text;
  const bool negative = TakeSign(rest);
  const bool hex = rest.starts_with("0x") || rest.starts_with("0X");
  if (hex) rest.remove_prefix(2);
  const std::string plain = WithoutUnderscores(rest);
  const char* end = plain.data() + plain.size();
  double value = 0;
  const auto [at, error] =
      std::from_chars(plain.data(), end, value, hex ? std::chars_format::hex : std::chars_format::general);
  const bool whole =
      at == end && !plain.starts_with('-') && (!hex || plain.find_first_of("pP") != plain.npos);
  if (error == std::errc::invalid_argument || !whole || !UnderscoresAreFine(rest, hex) ||
      plain.starts_with("nan("))
    return Wrong("ParseFloat", text, "invalid syntax");
  const bool infinite = std::isinf(value) && error == std::errc{};
  const bool tiny = error == std::errc::result_out_of_range && plain.contains("e-");
  if (tiny) value = 0;
  if (!infinite && !tiny &&
      (error == std::errc::result_out_of_range || std::isinf(static_cast<float>(value))))
    return Wrong("ParseFloat", text, "value out of range");
  return negative ? -value : value;
}

}  // namespace berth
