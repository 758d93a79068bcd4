// The part of CapacityScheduling that differs between flat quotas and a tree of quotas.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/framework/attempt.hpp"
#include "scheduler/framework/plugin.hpp"

namespace berth::plugins {

// Which pods quotas admit, and which pods may be evicted for another one. Keeps what it needs of an attempt
// in its cycle state, so that dry runs have changes of their own. Scheduler loop only.
class QuotaRules {
 public:
  // The pods that may be evicted for a pod. It does not change while others are removed.
  enum class Claim : std::uint8_t {
    kNoQuota,    // pods without a quota
    kWithinMin,  // pods of quotas that use more than their minimum
    kOwnQuota,   // pods of the pod's own quota
  };
  virtual ~QuotaRules() = default;

  // The result of PreFilter. Skip: nothing counts for such a pod.
  virtual framework::PreFilterResult Admit(const framework::Attempt& attempt) const = 0;
  // A dry run adds the pod to a node or removes it. No effect if it counts already, or does not count.
  virtual void Add(const framework::Attempt& attempt, const api::Pod& pod) const = 0;
  virtual void Remove(const framework::Attempt& attempt, const api::Pod& pod) const = 0;

  virtual Claim ClaimOf(const framework::Attempt& attempt) const = 0;
  virtual bool MayEvict(Claim claim, const framework::Attempt& attempt, const api::Pod& other) const = 0;
  // Whether the pod waits for the end of this one, which is being deleted on its nominated node.
  virtual bool MakesRoom(Claim claim, const framework::Attempt& attempt, const api::Pod& other) const = 0;
  // Whether the attempt's pod would exceed a quota; and the same if nominated pods come first.
  virtual bool Exceeds(const framework::Attempt& attempt) const = 0;
  virtual bool ExceedsWithNominated(const framework::Attempt& attempt) const = 0;
  // The pod will be evicted for the attempt's pod.
  virtual void OnVictim(const framework::Attempt& attempt, const api::Pod& victim) = 0;
  // No room is made for the pod, which was rejected by Admit or fits on no node.
  virtual void OnUnserved(const framework::Attempt& attempt) = 0;

  virtual std::vector<framework::EventRegistration> Events() const = 0;
  // Why Admit rejected the pod: sentences without a full stop, at most ten.
  virtual std::vector<std::string> Explain(const framework::Attempt& attempt) const = 0;
};

}  // namespace berth::plugins
