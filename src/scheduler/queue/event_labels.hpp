// Labels of the queue's own events in metrics; private to this module.
#pragma once

namespace berth::queue {

inline constexpr const char* kPodAdded = "UnscheduledPodAdd";
inline constexpr const char* kPodUpdated = "UnscheduledPodUpdate";
inline constexpr const char* kBackoffComplete = "BackoffComplete";
inline constexpr const char* kAttemptFailed = "ScheduleAttemptFailure";
inline constexpr const char* kTooManyEvents = "TooManyEvents";
inline constexpr const char* kPopFromBackoff = "PopFromBackoffQ";

}  // namespace berth::queue
