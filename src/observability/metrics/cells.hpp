// Metric values. All operations are cheap enough for the scheduling cycle: relaxed atomics, no lock, no
// allocation, no hashing. Any thread may write and any thread may read.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace berth::metrics {

class Counter {
 public:
  void Add(std::uint64_t by = 1) { value_.fetch_add(by, std::memory_order_relaxed); }
  std::uint64_t Value() const { return value_.load(std::memory_order_relaxed); }
  void Reset() { value_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// Whole numbers only: the scheduler's gauges count pods, nodes and requests.
class Gauge {
 public:
  void Set(std::int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void Add(std::int64_t by = 1) { value_.fetch_add(by, std::memory_order_relaxed); }
  std::int64_t Value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

// Counts per bucket and the sum. A reader may see an observation's bucket before its sum, never a torn value.
class Histogram {
 public:
  // `bounds` must ascend; a last bucket without bound is added.
  explicit Histogram(std::span<const double> bounds)
      : bounds_(bounds.begin(), bounds.end()),
        counts_(std::make_unique<std::atomic<std::uint64_t>[]>(bounds.size() + 1)) {}

  // Durations are observed in seconds.
  void Observe(double value) {
    const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
    counts_[static_cast<std::size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(value, std::memory_order_relaxed);
  }

  std::span<const double> Bounds() const { return bounds_; }
  // Observations in bucket i only (not cumulative); i may be Bounds().size(), the bucket without bound.
  std::uint64_t Count(std::size_t i) const { return counts_[i].load(std::memory_order_relaxed); }
  double Sum() const { return sum_.load(std::memory_order_relaxed); }
  void Reset() {
    for (std::size_t i = 0; i <= bounds_.size(); ++i) counts_[i].store(0, std::memory_order_relaxed);
    sum_.store(0, std::memory_order_relaxed);
  }

 private:
  std::vector<double> bounds_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> counts_;
  std::atomic<double> sum_{0};
};

// Upper bounds as Prometheus' Go client computes them (by repeated multiplication, so that `le` agrees):
// start, start * factor, ... `count` of them.
std::vector<double> ExponentialBuckets(double start, double factor, int count);

}  // namespace berth::metrics
