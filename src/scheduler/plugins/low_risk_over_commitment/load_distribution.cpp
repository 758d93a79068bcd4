#include "scheduler/plugins/low_risk_over_commitment/load_distribution.hpp"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <limits>

namespace berth::plugins {
namespace {

// Errors are reported as NaN, not as exceptions. Computed as long double: the probability is divided by
// another one, and scheduler-plugins computes both to the smallest double.
using BetaPolicy = boost::math::policies::policy<
    boost::math::policies::domain_error<boost::math::policies::ignore_error>,
    boost::math::policies::pole_error<boost::math::policies::ignore_error>,
    boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::evaluation_error<boost::math::policies::ignore_error>,
    boost::math::policies::promote_double<true>>;

}  // namespace

LoadDistribution::LoadDistribution(double mean, double deviation) : mean_(mean), deviation_(deviation) {
  if (mean == 0 || deviation == 0) return;
  // Not deviation * deviation: scheduler-plugins subtracts the second moments, and rounds there.
  const double second_moment = (deviation * deviation) + (mean * mean);
  const double variance = second_moment - mean * mean;
  if (mean < 0 || mean > 1 || variance < 0 || variance >= mean * (1 - mean)) return;
  const double sum = std::max((mean * (1 - mean) / variance) - 1, std::numeric_limits<double>::denorm_min());
  alpha_ = mean * sum;
  beta_ = (1 - mean) * sum;
  fitted_ = true;
}

double LoadDistribution::Below(double share) const {
  if (mean_ == 0) return 1;
  if (deviation_ == 0) return mean_ <= share ? 1 : 0;
  return fitted_ ? CumulativeAt(share) : 0;
}

double LoadDistribution::CumulativeAt(double share) const {
  if (!(alpha_ > 0 && beta_ > 0 && share >= 0 && share <= 1)) return 0;
  if (share == 0 || share == 1) return share;
  // The variance was rounded to zero; scheduler-plugins gets NaN here, and takes it for 0.
  if (std::isinf(alpha_) || std::isinf(beta_)) return 0;
  const double probability = boost::math::ibeta(alpha_, beta_, share, BetaPolicy());
  return probability >= 0 && probability <= 1 ? probability : 0;
}

}  // namespace berth::plugins
