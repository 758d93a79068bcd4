#include "sandbox/controllers/job/back_off.hpp"

#include <algorithm>

namespace berth::sandbox {
namespace {

constexpr std::chrono::seconds kFirstBackOff{10};
constexpr std::chrono::minutes kLastBackOff{10};

}  // namespace

void JobBackOff::Add(const std::vector<WallTime>& succeeded, std::vector<WallTime> failed) {
  if (!succeeded.empty()) {
    failures_ = 0;
    const WallTime last_success = std::ranges::max(succeeded);
    std::erase_if(failed, [&](WallTime time) { return time <= last_success; });
  }
  if (failed.empty()) return;
  failures_ += std::ssize(failed);
  last_failure_ = std::ranges::max(failed);
}

Duration JobBackOff::Remaining(WallTime now) const {
  if (failures_ == 0) return {};
  const auto doublings = std::min<std::int64_t>(failures_ - 1, 10);
  const Duration pause = std::min<Duration>(kFirstBackOff * (1 << doublings), kLastBackOff);
  // Clients can write any time; differences of times before 1970 may be no Duration.
  const WallTime last = std::clamp(last_failure_, WallTime{}, std::max(now, WallTime{}));
  return std::max(last + pause - now, Duration::zero());
}

}  // namespace berth::sandbox
