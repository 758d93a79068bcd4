#include "sandbox/controllers/work_queue.hpp"

#include <algorithm>

#include "sandbox/store/guard.hpp"

namespace berth::sandbox {
namespace {

constexpr std::size_t kCheap = 64;  // number of objects that needs no delay
constexpr std::chrono::microseconds kRestPerObject{10};
constexpr std::chrono::milliseconds kFirstRetry{5};
constexpr std::chrono::seconds kLastRetry{1000};

// One object that a controller cannot handle must not end the process.
WorkQueue::Outcome Guarded(const WorkQueue::Reconcile& reconcile, const std::string& key) {
  WorkQueue::Outcome outcome{.failed = true};
  RunGuarded("the controller", key, [&] { outcome = reconcile(key); });
  return outcome;
}

}  // namespace

void WorkQueue::AddAfter(const std::string& key, Duration delay) {
  MonoTime due = clock_.Now() + delay;
  if (const auto rest = rest_until_.find(key); rest != rest_until_.end()) due = std::max(due, rest->second);
  const auto found = waiting_.find(key);
  if (found != waiting_.end()) {
    if (found->second.due <= due) return;
    timers_.Cancel(found->second.id);
    waiting_.erase(found);
  }
  const auto id = timers_.After(due - clock_.Now(), [this, key] { Run(key); });
  waiting_.emplace(key, Entry{id, due});
}

void WorkQueue::Run(const std::string& key) {
  waiting_.erase(key);
  rest_until_.erase(key);
  const Outcome outcome = Guarded(reconcile_, key);
  if (outcome.objects_read > kCheap) {
    rest_until_[key] = clock_.Now() + kRestPerObject * static_cast<std::int64_t>(outcome.objects_read);
    // Keys added in the meantime wait, too.
    if (const auto found = waiting_.find(key); found != waiting_.end()) {
      const Duration delay = found->second.due - clock_.Now();
      timers_.Cancel(found->second.id);
      waiting_.erase(found);
      AddAfter(key, std::max(delay, Duration::zero()));
    }
  }
  if (outcome.failed) {
    const unsigned failures = std::min(failures_[key]++, 20U);
    AddAfter(key, std::min<Duration>(kFirstRetry * (1 << failures), kLastRetry));
  } else {
    failures_.erase(key);
  }
  if (outcome.again_after > Duration::zero()) AddAfter(key, outcome.again_after);
}

}  // namespace berth::sandbox
