// Was there a view of the cluster in which the other scheduler's choice is ours, too?
#pragma once

#include <optional>

#include "tools/shadow/history.hpp"
#include "tools/shadow/evaluator.hpp"

namespace berth::shadow {

// A choice whose consequence was seen.
struct ObservedDecision {
  cluster::PodInfo pod;  // as it was when it waited
  const runtime::Profile* profile = nullptr;
  Choice theirs;
  Turn turn;
  std::uint64_t position = 0;  // of the change that told, in the history
};

// kube-scheduler decides about one pod after the other and assumes each on its node at once, but binds them
// side by side: bindings arrive in another order than decisions were made, and everything else reaches the
// two schedulers at different moments. What it knew when it decided is therefore: all changes up to some
// moment, and of the bindings around that moment those of pods that had their turn before. Such views are
// tried, the most probable first, a bounded number of them; nothing is found: no view explains the choice.
// The cache is as it was afterwards.
// Gives up at `until`.
std::optional<Comparison> FindExplainingView(const ObservedDecision& seen, History& history, Evaluator& judge,
                                             const Clock& clock, MonoTime until);

}  // namespace berth::shadow
