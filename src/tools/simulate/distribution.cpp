#include "tools/simulate/distribution.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace berth::simulate {
namespace {

constexpr double kLongest = 100.0 * 365 * 24 * 3600;  // seconds

Duration FromSeconds(double seconds) {
  return Duration(static_cast<std::int64_t>(std::min(seconds, kLongest) * 1e9));
}

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

// Exponential with mean 1. Unit() may be 0, but never 1.
double DrawExponential(Random& random) { return -std::log1p(-random.Unit()); }

// Box and Muller's transform; the second number is not used, so that each draw takes two random numbers.
double DrawNormal(Random& random) {
  const double radius = std::sqrt(2 * DrawExponential(random));
  return radius * std::cos(2 * std::numbers::pi * random.Unit());
}

}  // namespace

Duration Distribution::Draw(Random& random) const {
  const auto draw = [&]() -> Duration {
    switch (kind) {
      case Kind::kFixed:
        return value;
      case Kind::kUniform:
        return value + FromSeconds(Seconds(most - value) * random.Unit());
      case Kind::kExponential:
        return FromSeconds(Seconds(value) * DrawExponential(random));
      case Kind::kLogNormal:
        return FromSeconds(Seconds(value) * std::exp(sigma * DrawNormal(random)));
    }
    return value;
  };
  return std::max<Duration>(draw(), std::chrono::milliseconds(1));
}

Duration DrawGap(double per_second, Random& random) {
  return FromSeconds(DrawExponential(random) / per_second);
}

}  // namespace berth::simulate
