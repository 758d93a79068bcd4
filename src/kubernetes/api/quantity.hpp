// Kubernetes' resource.Quantity: "100m", "1.5Gi", "1e3".
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace berth::api {

// An exact decimal number with nano precision, as in k8s.io/apimachinery v0.37: finer input is rounded away
// from zero, binary-suffixed input is capped at +-(2^63-1), decimal input may be larger. Value() and
// MilliValue() round away from zero and give apimachinery's results for numbers that do not fit an int64 (see
// the .cpp). A value type; copying is cheap for everything below 2^63 nano-units of its scale.
class Quantity {
 public:
  Quantity() = default;
  // Error texts are those of apimachinery.
  static Expected<Quantity> Parse(std::string_view text);
  static Quantity FromInteger(std::int64_t value);
  static Quantity FromMilli(std::int64_t milli);

  // The number, rounded up to an integer.
  std::int64_t Value() const;
  // A thousand times the number, rounded up to an integer.
  std::int64_t MilliValue() const;
  bool IsZero() const;

  Quantity& operator+=(const Quantity& other);
  void FormatAs(const Quantity& other) { binary_ = other.binary_; }  // the kind of suffix: Ki or k
  // Changes the representation, not the value: to the form that Value and MilliValue read modulo 2^64 instead
  // of as 0 when it does not fit. Apimachinery's comparison does this to its left operand when the right
  // operand already has that form.
  void Widen();
  bool wide() const { return big_ != nullptr; }
  // The canonical text, as sent between Kubernetes components: "1536Mi" for "1.5Gi", "10e18" for "1e19".
  std::string Canonical() const;
  // The number after encoding and decoding by a Go component: the same value, but possibly in the other of
  // the two forms, and capped at 2^63-1 if it has become a binary-suffixed number beyond that.
  Quantity Reencoded() const;
  // Rounds as the API server does for every resource amount it stores: to milli precision, away from zero.
  void RoundUpToMilli();
  // Less than zero, zero, or greater than zero: the exact comparison of two quantities.
  int Compare(const Quantity& other) const;
  // Whether both have the same value in the same form and are interchangeable. Compare compares values only.
  friend bool operator==(const Quantity& a, const Quantity& b) {
    return a.mantissa_ == b.mantissa_ && a.scale_ == b.scale_ && a.binary_ == b.binary_ &&
           (a.big_ == b.big_ || SameBig(a, b));
  }
  // Equal for equal quantities.
  std::size_t Hash() const {
    return std::hash<std::int64_t>()(mantissa_) * 31 + static_cast<std::size_t>(scale_ * 2 + int{binary_});
  }

 private:
  friend struct QuantityArithmetic;
  struct Big;
  static bool SameBig(const Quantity& a, const Quantity& b);

  // value = mantissa_ * 10^scale_ while big_ is null; else *big_.
  std::int64_t mantissa_ = 0;
  int scale_ = 0;
  bool binary_ = false;  // printed with Ki, Mi, ... where possible
  std::shared_ptr<const Big> big_;
};

}  // namespace berth::api
