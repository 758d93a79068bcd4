#include "kubernetes/api/quantity.hpp"

#include <algorithm>
#include <array>
#include <boost/multiprecision/cpp_int.hpp>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "base/ascii.hpp"
#include "base/wrap.hpp"
#include "kubernetes/api/quantity_arithmetic.hpp"

namespace berth::api {

// Numbers outside the small form: nanos / 10^9. Arbitrary precision: "99999999999999999999Gi" is valid.
// `digits` is the number of decimals that apimachinery keeps at this point (9 after parsing, 3 after rounding
// to milli, 0 after capping); it affects how negative numbers overflow.
struct Quantity::Big {
  boost::multiprecision::cpp_int nanos;
  int digits = 9;
};

namespace {

using boost::multiprecision::cpp_int;

constexpr const char* kFormatWrong =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
constexpr const char* kNumericWrong = "unable to parse numeric part of quantity";
constexpr const char* kSuffixWrong = "unable to parse quantity's suffix";

constexpr int kNano = -9;
// Beyond this power of ten the low 64 bits of a product are all zero, so larger exponents do not change the
// result of Value(). The cap keeps "1e2147483647" from becoming a number of gigabytes.
constexpr int kExponentCap = 400;

struct Parts {
  bool negative = false;
  std::string_view numerator;    // without leading zeros, "0" if nothing is left
  std::string_view denominator;  // digits behind the dot
  std::string_view suffix;
};
struct Suffix {
  int base = 10;  // 10 or 2
  int exponent = 0;
};

Expected<Parts> SplitQuantity(std::string_view text);
std::optional<Suffix> InterpretSuffix(std::string_view suffix);

Expected<Parts> SplitQuantity(std::string_view text) {
  Parts parts;
  std::size_t pos = 0;
  if (text[0] == '-' || text[0] == '+') {
    parts.negative = text[0] == '-';
    ++pos;
  }
  while (pos < text.size() && text[pos] == '0') ++pos;
  const std::size_t numerator = pos;
  while (pos < text.size() && IsAsciiDigit(text[pos])) ++pos;
  parts.numerator = text.substr(numerator, pos - numerator);
  if (parts.numerator.empty()) parts.numerator = "0";
  if (pos < text.size() && text[pos] == '.') {
    const std::size_t denominator = ++pos;
    while (pos < text.size() && IsAsciiDigit(text[pos])) ++pos;
    parts.denominator = text.substr(denominator, pos - denominator);
  }
  const std::size_t suffix = pos;
  while (pos < text.size() && std::string_view("eEinumkKMGTP").find(text[pos]) != std::string_view::npos)
    ++pos;
  if (pos < text.size() && (text[pos] == '-' || text[pos] == '+')) ++pos;
  while (pos < text.size() && IsAsciiDigit(text[pos])) ++pos;
  if (pos != text.size()) return Invalid(kFormatWrong);
  parts.suffix = text.substr(suffix);
  return parts;
}

std::optional<Suffix> InterpretSuffix(std::string_view suffix) {
  struct Known {
    std::string_view text;
    Suffix meaning;
  };
  static constexpr std::array<Known, 16> kKnown{{{"", {10, 0}},
                                                 {"Ki", {2, 10}},
                                                 {"Mi", {2, 20}},
                                                 {"Gi", {2, 30}},
                                                 {"Ti", {2, 40}},
                                                 {"Pi", {2, 50}},
                                                 {"Ei", {2, 60}},
                                                 {"n", {10, -9}},
                                                 {"u", {10, -6}},
                                                 {"m", {10, -3}},
                                                 {"k", {10, 3}},
                                                 {"M", {10, 6}},
                                                 {"G", {10, 9}},
                                                 {"T", {10, 12}},
                                                 {"P", {10, 15}},
                                                 {"E", {10, 18}}}};
  for (const Known& known : kKnown) {
    if (known.text == suffix) return known.meaning;
  }
  if (suffix.size() > 1 && (suffix[0] == 'e' || suffix[0] == 'E')) {
    std::string_view digits = suffix.substr(1);
    if (digits[0] == '+') digits.remove_prefix(1);
    std::int64_t exponent = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    // apimachinery keeps the low 32 bits of an exponent.
    return Suffix{10, static_cast<std::int32_t>(exponent)};
  }
  return std::nullopt;
}

// base * 10^power, or nullopt on overflow.
std::optional<std::int64_t> ScaleUp(std::int64_t base, int power) {
  if (base == 0) return 0;
  if (power > 18) return std::nullopt;
  std::int64_t result = base;
  for (int i = 0; i < power; ++i) {
    if (__builtin_mul_overflow(result, std::int64_t{10}, &result)) return std::nullopt;
  }
  return result;
}

// apimachinery's result for the small form: if the product overflows, its low 64 bits for the powers that
// occur between common units, and 0 for the others.
std::int64_t ReadScaledUp(std::int64_t base, int power) {
  if (const auto exact = ScaleUp(base, power)) return *exact;
  const bool common = power == 1 || power == 2 || power == 3 || power == 6 || power == 9;
  if (!common || base == INT64_MIN) return 0;
  std::int64_t factor = 1;
  for (int i = 0; i < power; ++i) factor *= 10;
  return WrapMul(base, factor);
}

// base / 10^power, away from zero.
std::int64_t ScaleDown(std::int64_t base, int power) {
  bool fraction = false;
  std::int64_t value = base;
  for (int i = 0; i < power && value != 0; ++i) {
    fraction = fraction || value % 10 != 0;
    value /= 10;
  }
  if (!fraction) return value;
  return base > 0 ? value + 1 : value - 1;
}

cpp_int PowerOfTen(int power) {
  return boost::multiprecision::pow(cpp_int(10), static_cast<unsigned>(power));
}

// In time n^1.6. Boost's parser takes n^2, which for the digits that fit into a pod is seconds.
cpp_int Number(std::string_view digits) {
  constexpr std::size_t kFewDigits = 1000;
  if (digits.size() > kFewDigits) {
    const std::size_t low = digits.size() / 2;
    return Number(digits.substr(0, digits.size() - low)) * PowerOfTen(static_cast<int>(low)) +
           Number(digits.substr(digits.size() - low));
  }
  // Boost parses a leading zero as the prefix of an octal number.
  const std::size_t first = digits.find_first_not_of('0');
  return first == std::string_view::npos ? cpp_int(0) : cpp_int(std::string(digits.substr(first)));
}

bool AnyNonZero(std::string_view digits) { return digits.find_first_not_of('0') != std::string_view::npos; }

// digits * 10^power, rounded up.
cpp_int DecimalNanos(std::string_view digits, std::int64_t power) {
  if (power >= 0)
    return Number(digits) * PowerOfTen(static_cast<int>(std::min<std::int64_t>(power, kExponentCap)));
  const auto size = static_cast<std::int64_t>(digits.size());
  const auto whole = static_cast<std::size_t>(std::max<std::int64_t>(size + power, 0));
  return Number(digits.substr(0, whole)) + (AnyNonZero(digits.substr(whole)) ? 1 : 0);
}

// The amount * 2^exponent in nano-units, rounded up.
cpp_int BinaryNanos(const Parts& parts, int exponent) {
  // The bounds between two results, n / (2^exponent * 10^9), have exponent + 9 digits behind the dot. Further
  // digits count only by whether there is one.
  const auto kept = static_cast<std::size_t>(exponent - kNano);
  std::string digits = std::string(parts.numerator) + std::string(parts.denominator.substr(0, kept));
  std::size_t behind_dot = std::min(parts.denominator.size(), kept);
  if (parts.denominator.size() > kept && AnyNonZero(parts.denominator.substr(kept))) {
    digits += '1';
    ++behind_dot;
  }
  const cpp_int product = (Number(digits) << exponent) * PowerOfTen(-kNano);
  const cpp_int divisor = PowerOfTen(static_cast<int>(behind_dot));
  return (product + divisor - 1) / divisor;
}

// apimachinery's result for a number that does not fit an int64: its low 64 bits.
std::int64_t LowBits(const cpp_int& value) {
  const cpp_int magnitude = abs(value);
  const auto low = static_cast<std::uint64_t>(magnitude & cpp_int(UINT64_MAX));
  return static_cast<std::int64_t>(value < 0 ? std::uint64_t{0} - low : low);
}

// mantissa * 10^scale in nano-units; the small form never has a scale below kNano.
cpp_int ToNanos(std::int64_t mantissa, int scale) {
  return cpp_int(mantissa) * PowerOfTen(std::min(scale, kExponentCap) - kNano);
}

// A big number in units of 10^-wanted, where apimachinery stores it in units of 10^-kept. apimachinery
// divides the low 64 bits of a negative number but the whole of a positive one, and adds one to both if there
// is a remainder.
std::int64_t BigScaled(const cpp_int& nanos, int kept, int wanted) {
  const cpp_int unscaled = nanos / PowerOfTen(9 - kept);
  if (wanted >= kept) {
    // apimachinery's factor is a float converted to int64, which beyond 10^18 gives the smallest int64.
    constexpr int kPowerMax = 18;
    std::int64_t factor = wanted - kept > kPowerMax ? INT64_MIN : 1;
    for (int i = kept; i < wanted && factor != INT64_MIN; ++i) factor *= 10;
    return WrapMul(LowBits(unscaled), factor);
  }
  const cpp_int divisor = PowerOfTen(kept - wanted);
  if (nanos < 0) {
    const std::int64_t low = LowBits(unscaled);
    const auto small = static_cast<std::int64_t>(divisor);
    return low / small + (low % small != 0 ? 1 : 0);
  }
  const cpp_int whole = unscaled / divisor;
  const std::int64_t low = LowBits(whole);
  return whole * divisor == unscaled ? low : static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + 1);
}

}  // namespace

Expected<Quantity> Quantity::Parse(std::string_view text) {
  if (text.empty()) return Invalid(kFormatWrong);
  BERTH_TRY(const Parts parts, SplitQuantity(text));
  const auto suffix = InterpretSuffix(parts.suffix);
  if (!suffix) return Invalid(kSuffixWrong);

  // The small form, under exactly apimachinery's conditions: the form of a number determines its rounding.
  const int digits =
      static_cast<int>(std::min<std::size_t>(parts.numerator.size() + parts.denominator.size(), 1000));
  std::int64_t factor = 1;
  int scale = 0;
  int precision = -1;
  if (suffix->base == 10) {
    scale = std::min(suffix->exponent, 2 * kExponentCap);  // larger than any useful value, and safe to add to
    precision = 18 - digits;
  } else if (parts.denominator.empty()) {
    factor = std::int64_t{1} << suffix->exponent;
    precision = 15 - digits - suffix->exponent * 3 / 10 - 1;
  }
  const std::string shifted = std::string(parts.numerator) + std::string(parts.denominator);
  if (precision >= 0 && scale >= kNano + static_cast<int>(parts.denominator.size())) {
    std::int64_t value = 0;
    std::from_chars(shifted.data(), shifted.data() + shifted.size(), value);
    if (!__builtin_mul_overflow(value, factor, &value)) {
      Quantity result;
      result.mantissa_ = parts.negative ? -value : value;
      result.scale_ = scale - static_cast<int>(parts.denominator.size());
      result.binary_ = suffix->base == 2;
      return result;
    }
  }

  cpp_int nanos = suffix->base == 10
                      ? DecimalNanos(shifted, std::int64_t{suffix->exponent} -
                                                  static_cast<std::int64_t>(parts.denominator.size()) - kNano)
                      : BinaryNanos(parts, suffix->exponent);
  int kept = 9;
  if (const cpp_int cap = cpp_int(INT64_MAX) * PowerOfTen(-kNano); suffix->base == 2 && nanos > cap) {
    nanos = cap;
    kept = 0;
  }
  Quantity result;
  result.binary_ = suffix->base == 2 && nanos >= PowerOfTen(-kNano);
  result.big_ = std::make_shared<Big>(Big{parts.negative ? cpp_int(-nanos) : nanos, kept});
  return result;
}

Quantity Quantity::FromInteger(std::int64_t value) {
  Quantity result;
  result.mantissa_ = value;
  return result;
}

Quantity Quantity::FromMilli(std::int64_t milli) {
  Quantity result;
  result.mantissa_ = milli;
  result.scale_ = -3;
  return result;
}

std::int64_t Quantity::Value() const {
  if (big_) return BigScaled(big_->nanos, big_->digits, 0);
  return scale_ >= 0 ? ReadScaledUp(mantissa_, scale_) : ScaleDown(mantissa_, -scale_);
}

std::int64_t Quantity::MilliValue() const {
  if (big_) return BigScaled(big_->nanos, big_->digits, 3);
  return scale_ >= -3 ? ReadScaledUp(mantissa_, scale_ + 3) : ScaleDown(mantissa_, -3 - scale_);
}

bool Quantity::SameBig(const Quantity& a, const Quantity& b) {
  return a.big_ && b.big_ && a.big_->digits == b.big_->digits && a.big_->nanos == b.big_->nanos;
}

bool Quantity::IsZero() const { return big_ ? big_->nanos == 0 : mantissa_ == 0; }

Quantity& Quantity::operator+=(const Quantity& other) {
  if (IsZero()) binary_ = other.binary_;
  if (!big_ && !other.big_) {
    if (other.mantissa_ == 0) return *this;
    if (mantissa_ == 0) {
      mantissa_ = other.mantissa_;
      scale_ = other.scale_;
      return *this;
    }
    const int scale = std::min(scale_, other.scale_);
    const auto left = ScaleUp(mantissa_, scale_ - scale);
    const auto right = ScaleUp(other.mantissa_, other.scale_ - scale);
    std::int64_t sum = 0;
    if (left && right && !__builtin_add_overflow(*left, *right, &sum)) {
      mantissa_ = sum;
      scale_ = scale;
      return *this;
    }
  }
  const cpp_int left = big_ ? big_->nanos : ToNanos(mantissa_, scale_);
  const cpp_int right = other.big_ ? other.big_->nanos : ToNanos(other.mantissa_, other.scale_);
  const int kept = std::max(big_ ? big_->digits : -std::min(scale_, kExponentCap),
                            other.big_ ? other.big_->digits : -std::min(other.scale_, kExponentCap));
  big_ = std::make_shared<Big>(Big{left + right, kept});
  return *this;
}

void QuantityArithmetic::Subtract(Quantity& from, const Quantity& amount) {
  Quantity negated = amount;
  // apimachinery negates the smallest int64 to itself if that is enough for an exact sum.
  negated.mantissa_ = WrapMul(amount.mantissa_, -1);
  Quantity difference = from;
  if (!from.big_ && !amount.big_) difference += negated;
  if (from.big_ || amount.big_ || difference.big_) {
    negated.big_ = std::make_shared<Quantity::Big>(
        Quantity::Big{cpp_int(amount.big_ ? -amount.big_->nanos : -ToNanos(amount.mantissa_, amount.scale_)),
                      amount.big_ ? amount.big_->digits : -std::min(amount.scale_, kExponentCap)});
    difference = from;
    difference += negated;
  }
  from = difference;
}

int QuantityArithmetic::Sign(const Quantity& quantity) {
  if (quantity.big_) return quantity.big_->nanos.sign();
  return quantity.mantissa_ < 0 ? -1 : quantity.mantissa_ > 0 ? 1 : 0;
}

std::optional<std::int64_t> QuantityArithmetic::AsInt64(const Quantity& quantity) {
  if (quantity.big_ || quantity.scale_ < 0) return std::nullopt;
  return ScaleUp(quantity.mantissa_, quantity.scale_);
}

double QuantityArithmetic::AsApproximateDouble(const Quantity& quantity) {
  int exponent = quantity.scale_;
  double base = static_cast<double>(quantity.mantissa_);
  if (quantity.big_) {
    exponent = -quantity.big_->digits;
    // The nearest double of the exact number, which the library's own conversion does not guarantee.
    base = std::strtod(cpp_int(quantity.big_->nanos / PowerOfTen(9 - quantity.big_->digits)).str().c_str(),
                       nullptr);
  }
  return exponent == 0 ? base : base * std::pow(10.0, exponent);
}

std::string Quantity::Canonical() const {
  if (IsZero()) return "0";
  cpp_int number = big_ ? big_->nanos : ToNanos(mantissa_, scale_);
  if (const cpp_int unit = PowerOfTen(-kNano); binary_ && abs(number) >= 1024 * unit && number % unit == 0) {
    static constexpr std::array<const char*, 7> kSuffixes{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    number /= unit;
    std::size_t factors = 0;
    for (; factors + 1 < kSuffixes.size() && number % 1024 == 0; ++factors) number /= 1024;
    return number.str() + kSuffixes[factors];
  }
  int exponent = kNano;
  for (; number % 10 == 0; ++exponent) number /= 10;
  for (; exponent % 3 != 0; --exponent) number *= 10;
  static constexpr std::array<const char*, 10> kSuffixes{"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  const int index = exponent / 3 + 3;
  if (index < 0 || index >= static_cast<int>(kSuffixes.size()))
    return number.str() + "e" + std::to_string(exponent);
  return number.str() + kSuffixes[static_cast<std::size_t>(index)];
}

Quantity Quantity::Reencoded() const {
  if (!big_ && scale_ > kExponentCap) return *this;
  auto parsed = Parse(Canonical());
  return parsed ? *parsed : *this;
}

void Quantity::Widen() {
  if (!big_) big_ = std::make_shared<Big>(Big{ToNanos(mantissa_, scale_), -std::min(scale_, kExponentCap)});
}

void Quantity::RoundUpToMilli() {
  if (!big_) {
    if (scale_ >= -3) return;
    mantissa_ = ScaleDown(mantissa_, -3 - scale_);
    scale_ = -3;
    return;
  }
  const cpp_int unit = PowerOfTen(6);
  const cpp_int magnitude = abs(big_->nanos);
  const cpp_int rounded = (magnitude + unit - 1) / unit * unit;
  big_ = std::make_shared<Big>(Big{big_->nanos < 0 ? cpp_int(-rounded) : rounded, 3});
}

int Quantity::Compare(const Quantity& other) const {
  if (!big_ && !other.big_) {
    const int scale = std::min(scale_, other.scale_);
    const auto left = ScaleUp(mantissa_, scale_ - scale);
    const auto right = ScaleUp(other.mantissa_, other.scale_ - scale);
    if (left && right) return *left < *right ? -1 : *left > *right ? 1 : 0;
  }
  const cpp_int left = big_ ? big_->nanos : ToNanos(mantissa_, scale_);
  const cpp_int right = other.big_ ? other.big_->nanos : ToNanos(other.mantissa_, other.scale_);
  return left.compare(right);
}

}  // namespace berth::api
