// A histogram of durations with a bounded relative error.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/clock.hpp"

namespace berth::simulate {

// Each power of two of nanoseconds has 64 buckets, so a percentile is at most 1.6 % too high. Memory is
// bounded by the range of the values: at most 30 KiB.
class Histogram {
 public:
  // Negative durations count as zero.
  void Add(Duration duration) {
    const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0));
    const std::size_t bucket = BucketOf(value);
    if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
    ++buckets_[bucket];
    ++count_;
    sum_ += static_cast<double>(value);
    max_ = std::max(max_, duration);
  }
  std::uint64_t count() const { return count_; }
  Duration max() const { return max_; }
  Duration mean() const {
    return count_ == 0 ? Duration() : Duration(static_cast<std::int64_t>(sum_ / static_cast<double>(count_)));
  }
  // The upper bound of the bucket with the value of this rank, at most the maximum. `share`: from 0 to 1.
  // Zero without values.
  Duration Percentile(double share) const {
    const double exact = std::ceil(share * static_cast<double>(count_));
    const auto rank = std::max<std::uint64_t>(static_cast<std::uint64_t>(exact), 1);
    std::uint64_t below = 0;
    for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
      below += buckets_[bucket];
      if (below >= rank) return std::min(Duration(static_cast<std::int64_t>(UpperBound(bucket))), max_);
    }
    return max_;
  }
  // Calls archive(...) with the whole state, to store it or to replace it.
  template <class Archive>
  void VisitState(Archive& archive) {
    archive(buckets_, count_, sum_, max_);
  }

 private:
  static constexpr int kBits = 6;  // 64 buckets per power of two
  static std::size_t BucketOf(std::uint64_t value) {
    const int width = std::bit_width(value);
    if (width <= kBits + 1) return static_cast<std::size_t>(value);
    const int shift = width - kBits - 1;
    return static_cast<std::size_t>(((static_cast<std::uint64_t>(shift) << kBits)) + (value >> shift));
  }
  // The greatest value of the bucket.
  static std::uint64_t UpperBound(std::size_t bucket) {
    if (bucket < (2u << kBits)) return bucket;
    const std::size_t shift = (bucket >> kBits) - 1;
    const std::uint64_t mantissa = (bucket & ((1u << kBits) - 1)) + (1u << kBits);
    return ((mantissa + 1) << shift) - 1;
  }

  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  double sum_ = 0;
  Duration max_{};
};

}  // namespace berth::simulate
