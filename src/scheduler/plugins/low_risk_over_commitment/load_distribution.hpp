// The distribution of a node's load: a Beta distribution with the measured mean and standard deviation.
#pragma once

namespace berth::plugins {

class LoadDistribution {
 public:
  // `mean` and `deviation` are fractions of the capacity, 0 to 1.
  LoadDistribution(double mean, double deviation);

  // The probability that the load is at most `share`, 0 to 1, with the results of LowRiskOverCommitment of
  // scheduler-plugins v0.33.5 for constant loads and for deviations that no Beta distribution has.
  double Below(double share) const;
  // Whether the load varies, so that a Beta distribution describes it.
  bool fitted() const { return fitted_; }
  // Of the Beta distribution; requires fitted().
  double CumulativeAt(double share) const;

 private:
  const double mean_;
  const double deviation_;
  bool fitted_ = false;
  double alpha_ = 0;
  double beta_ = 0;
};

}  // namespace berth::plugins
