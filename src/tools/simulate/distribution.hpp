// Random durations.
#pragma once

#include "base/clock.hpp"
#include "base/random.hpp"

namespace berth::simulate {

// All durations are positive.
struct Distribution {
  enum class Kind { kFixed, kUniform, kExponential, kLogNormal };
  Kind kind = Kind::kFixed;
  Duration value{};  // fixed: the value; uniform: the least; exponential: the mean; log-normal: the median
  Duration most{};   // uniform: the greatest
  double sigma = 1;  // log-normal: the standard deviation of the logarithm

  // At least a millisecond, at most a hundred years.
  Duration Draw(Random& random) const;
};

// The time to the next event of a Poisson process. `per_second`: mean number of events, positive.
Duration DrawGap(double per_second, Random& random);

}  // namespace berth::simulate
