#include "process/pod_retries.hpp"

#include <utility>

namespace berth::process {

using Outcome = PodRetries::Outcome;

struct PodRetries::State {
  void Retry(const std::string& key, TakeOutcome take) {
    if (!MayRetry()) return take(Outcome::kTooMany);
    const api::PodPtr pod = scheduler.FindPending(key);
    if (pod == nullptr) return take(Outcome::kUnknown);
    scheduler.RetryNow(key, [this, pod, was_active = PlaceOf(*pod) == kActive,
                             take = std::move(take)]() mutable { take(OutcomeOf(*pod, was_active)); });
  }

  Outcome OutcomeOf(const api::Pod& pod, bool was_active) const {
    const std::string_view place = PlaceOf(pod);
    if (place.empty()) return Outcome::kInFlight;
    if (place != kActive) return Outcome::kHeld;
    return was_active ? Outcome::kActive : Outcome::kRetried;
  }

  bool MayRetry() {
    const MonoTime now = clock.Now();
    if (now - second_began >= std::chrono::seconds(1)) {
      second_began = now;
      retried = 0;
    }
    return ++retried <= kMostPerSecond;
  }

  // Empty if the pod is in no place of the queue.
  std::string_view PlaceOf(const api::Pod& pod) const {
    std::string_view found;
    scheduler.queue().Look(pod.metadata.uid,
                           [&](const auto&, const auto&, std::string_view place) { found = place; });
    return found;
  }

  static constexpr std::string_view kActive = "active";
  cycle::Scheduler& scheduler;
  const Clock& clock;
  MonoTime second_began = clock.Now();
  int retried = 0;
};

PodRetries::PodRetries(cycle::ClusterLoop& loop, cycle::Scheduler& scheduler, const Clock& clock)
    : loop_(loop), state_(std::make_shared<State>(State{scheduler, clock})) {}

void PodRetries::Retry(std::string key, TakeOutcome take) const {
  loop_.Post([state = state_, key = std::move(key), take = std::move(take)]() mutable {
    state->Retry(key, std::move(take));
  });
}

}  // namespace berth::process
