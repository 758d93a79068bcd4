// The delay of a Job's next pod after failures.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.hpp"

namespace berth::sandbox {

// As in kube-controller-manager: 10 s after the first failure since the last success, twice as long after
// each further one, at most 10 min. Pods that are deleted before they succeed have failed, too. One thread.
class JobBackOff {
 public:
  // The times at which pods succeeded and failed that were not added before.
  void Add(const std::vector<WallTime>& succeeded, std::vector<WallTime> failed);
  // Zero: the next pod may start.
  Duration Remaining(WallTime now) const;

 private:
  std::int64_t failures_ = 0;  // since the last success
  WallTime last_failure_{};
};

}  // namespace berth::sandbox
