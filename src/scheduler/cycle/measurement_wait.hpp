// The wait for the first complete measurements, before the first decisions of load-aware profiles.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/clock.hpp"

namespace berth::cycle {

// Without measurements, load-aware plugins would place all pods that wait at the start blindly. Profiles
// whose measurements are complete, or that use none, do not wait. The wait begins with the first call of
// Update, when this replica may decide for the first time, and is limited; then the plugins' own policy for
// missing measurements applies. Scheduler loop only.
class MeasurementWait {
 public:
  // Whether the measurements of a profile are complete; the argument is the profile's index.
  using IsMeasured = std::function<bool(std::size_t profile)>;

  // A limit of zero: no profile waits.
  MeasurementWait(Duration limit, IsMeasured is_measured, std::size_t profiles);

  bool active() const { return active_; }
  // No profile waits any more.
  void End();
  // Ends the waits that are complete or too long. Returns whether a profile still waits.
  bool Update(MonoTime now);
  // Profiles that were added later do not wait.
  bool IsWaiting(std::size_t profile) const { return profile < waiting_.size() && waiting_[profile]; }
  // The time by which Update must be called again; MonoTime::max(): not at all. Changes of measurements need
  // a call, too.
  MonoTime NextDue() const { return active_ && deadline_ ? *deadline_ : MonoTime::max(); }

 private:
  const Duration limit_;
  const IsMeasured is_measured_;
  std::vector<bool> waiting_;  // by profile
  bool active_;                // any of them
  std::optional<MonoTime> deadline_;
};

}  // namespace berth::cycle
