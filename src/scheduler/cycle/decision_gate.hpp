// Whether this replica schedules: stand-by, leading, draining.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/lease_fence.hpp"

namespace berth::cycle {

// The phase only advances. Scheduler loop only, except the write guard.
class DecisionGate {
 public:
  enum class Phase { kStandBy, kLeading, kDraining };

  DecisionGate(Phase phase, const Fence& fence) : phase_(phase), fence_(fence) {}

  void Lead() {
    if (phase_ == Phase::kStandBy) phase_ = Phase::kLeading;
  }
  void Drain() { phase_ = Phase::kDraining; }
  Phase phase() const { return phase_; }

  // A closed fence opens again when the lease is renewed.
  bool FenceOpen() const { return fence_.Open(); }
  bool MayDecide() const { return phase_ == Phase::kLeading && FenceOpen(); }
  // Failures are not reported while this replica gives up leadership: another replica schedules the pods.
  bool Leaving() const { return phase_ == Phase::kDraining || !FenceOpen(); }

  // A check for writes that bypass the ApiWriter. The function may be called from any thread, also after this
  // object was destroyed, but not after the fence; if the write must not be sent, it returns the reason.
  std::function<std::optional<std::string>()> WriteGuard() const {
    return [&fence = fence_]() -> std::optional<std::string> {
      if (fence.Open()) return std::nullopt;
      return "this scheduler does not hold the leader election lease";
    };
  }

 private:
  Phase phase_;
  const Fence& fence_;
};

}  // namespace berth::cycle
