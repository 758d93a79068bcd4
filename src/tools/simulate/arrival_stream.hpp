// The times at which the pods of one kind arrive.
#pragma once

#include <algorithm>
#include <optional>

#include "base/random.hpp"
#include "tools/simulate/workload.hpp"

namespace berth::simulate {

// The arrivals must outlive it.
class ArrivalStream {
 public:
  ArrivalStream(const Arrivals& arrivals, std::uint64_t seed)
      : arrivals_(arrivals), random_(seed), next_(arrivals.from) {}

  // The time of the next pods, ascending; nullopt: none follow.
  std::optional<Duration> Next() {
    if (!arrivals_.at.empty())
      return listed_ < arrivals_.at.size() ? std::optional(arrivals_.at[listed_++]) : std::nullopt;
    if (arrivals_.per_second > 0) next_ += DrawGap(arrivals_.per_second, random_);
    const Duration time = next_;
    if (arrivals_.every > Duration::zero()) next_ += arrivals_.every;
    return time < arrivals_.until ? std::optional(time) : std::nullopt;
  }
  // Pods at each time.
  std::size_t count() const { return arrivals_.count; }
  // For properties of these pods, drawn in the order of their arrival.
  Random& random() { return random_; }

 private:
  const Arrivals& arrivals_;
  Random random_;
  Duration next_;
  std::size_t listed_ = 0;
};

}  // namespace berth::simulate
