// What only CEL expressions and sums that amounts leave again need of quantities.
#pragma once

#include <cstdint>
#include <optional>

#include "kubernetes/api/quantity.hpp"

namespace berth::api {

// As the functions of apimachinery's Quantity.
struct QuantityArithmetic {
  static void Subtract(Quantity& from, const Quantity& amount);
  static int Sign(const Quantity& quantity);  // -1, 0 or 1
  // The number if apimachinery can return it as an int64; that depends on the form: nullopt for "1.5Gi".
  static std::optional<std::int64_t> AsInt64(const Quantity& quantity);
  static double AsApproximateDouble(const Quantity& quantity);
};

}  // namespace berth::api
