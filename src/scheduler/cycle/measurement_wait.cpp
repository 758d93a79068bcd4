#include "scheduler/cycle/measurement_wait.hpp"

#include <algorithm>

#include "base/go_duration.hpp"
#include "observability/log/log.hpp"

namespace berth::cycle {

MeasurementWait::MeasurementWait(Duration limit, IsMeasured is_measured, std::size_t profiles)
    : limit_(limit),
      is_measured_(std::move(is_measured)),
      waiting_(profiles, limit > Duration{}),
      active_(std::ranges::find(waiting_, true) != waiting_.end()) {}

bool MeasurementWait::Update(MonoTime now) {
  if (!active_) return false;
  const bool first = !deadline_;
  if (first) deadline_ = now + limit_;
  for (std::size_t profile = 0; profile < waiting_.size(); ++profile) {
    if (waiting_[profile] && is_measured_(profile)) waiting_[profile] = false;
  }
  active_ = std::ranges::find(waiting_, true) != waiting_.end();
  if (!active_) return false;
  if (now >= *deadline_) {
    log::Warning("Scheduling without complete measurements: some sources have not answered in time",
                 {{"limit", FormatGoDuration(limit_)}});
    End();
  } else if (first) {
    log::Info("Waiting for the first measurements", {{"atMost", FormatGoDuration(limit_)}});
  }
  return active_;
}

void MeasurementWait::End() {
  waiting_.assign(waiting_.size(), false);
  active_ = false;
}

}  // namespace berth::cycle
