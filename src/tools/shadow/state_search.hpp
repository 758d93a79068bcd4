// Searches for a cluster state in which Berth agrees with the other scheduler's decision.
#pragma once

#include <optional>

#include "tools/shadow/evaluator.hpp"
#include "tools/shadow/history.hpp"

namespace berth::shadow {

// An observed decision of the other scheduler.
struct ObservedDecision {
  cluster::PodInfo pod;  // while it was pending
  const runtime::Profile* profile = nullptr;
  Choice reference;
  QueuePosition queue_position;
  std::uint64_t position = 0;  // in the history, of the change that revealed the decision
  std::uint64_t bound_at =
      0;  // of the binding, or of the failure; later than `position` if the node was announced
  std::vector<AllocatedClaim> claims = {};  // that were allocated for the pod
};

struct SearchResult {
  std::optional<Comparison> explanation;  // nullopt: none of the tried states explains the decision
  bool complete = false;                  // false: time or recorded changes were not sufficient
};

// Searches a state that explains the decision. kube-scheduler decides about one pod after the other and
// assumes each on its node immediately, but binds concurrently. Therefore bindings arrive in another order
// than the decisions were made, and all other changes reach the two schedulers at different times. The state
// at its decision consists of all changes up to some moment and, of the bindings around that moment, those of
// pods that were earlier in its queue. Tries a bounded number of such states, the most probable first, until
// `until`. The cache is unchanged afterwards.
SearchResult FindExplainingState(const ObservedDecision& seen, History& history, Evaluator& evaluator,
                                 const Clock& clock, MonoTime until);

}  // namespace berth::shadow
