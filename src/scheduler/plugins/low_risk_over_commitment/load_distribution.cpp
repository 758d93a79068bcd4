#include "scheduler/plugins/low_risk_over_commitment/load_distribution.hpp"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <limits>

namespace berth::plugins {
namespace {

// Errors are reported as NaN, not as exceptions.
template <bool kLongDouble>
double RegularizedBeta(double alpha, double beta, double share) {
  using namespace boost::math::policies;
  using Policy = policy<domain_error<ignore_error>, pole_error<ignore_error>, overflow_error<ignore_error>,
                        evaluation_error<ignore_error>, promote_double<kLongDouble>>;
  return boost::math::ibeta(alpha, beta, share, Policy());
}

// Smaller results of the computation with double may have been rounded to zero on the way. They matter,
// because they are divided by others; scheduler-plugins computes them to the smallest double.
constexpr double kLeastExact = 1e-280;

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
  double probability = RegularizedBeta<false>(alpha_, beta_, share);
  if (!(probability > kLeastExact)) probability = RegularizedBeta<true>(alpha_, beta_, share);
  return probability >= 0 && probability <= 1 ? probability : 0;
}

}  // namespace berth::plugins
