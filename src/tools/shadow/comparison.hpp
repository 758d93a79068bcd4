// The comparison of another scheduler's decision about one pod with Berth's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"

namespace berth::shadow {

enum class Outcome : std::uint8_t {
  // Agreed.
  kSame,           // both chose the single best node
  kTie,            // several nodes have the best score; either scheduler chooses one at random
  kUnschedulable,  // no node fits; both messages are identical
  // Explained differences.
  kSampled,  // a lower score: kube-scheduler scores only a part of the nodes
  kRaced,    // Berth agrees in the cluster state of a moment before or after
  kCounts,   // no node fits for the same reasons, but with other numbers of nodes
  // Disagreements.
  kWorse,       // a lower score
  kInfeasible,  // Berth rejects the node
  kPlaceable,   // Berth has a node for the pod
  kDevices,     // the node is as good, but the claims get other devices there
  kMessage,     // no node fits, for other reasons
  kNomination,  // preemption nominates another node, or none
  kError,       // Berth failed to decide
  // Not compared.
  kMissed,          // the change was received late, after an interrupted watch
  kReferenceError,  // the other scheduler reported an error
  kGroup,           // the pod is a member of a group, which is decided as a whole
};
inline constexpr std::size_t kOutcomes = 16;
std::string_view OutcomeName(Outcome outcome);  // "same", ..., "group"

enum class Verdict : std::uint8_t { kAgreed, kExplained, kDisagreed, kNotCompared };
inline constexpr std::size_t kVerdicts = 4;
Verdict VerdictOf(Outcome outcome);
std::string_view VerdictName(Verdict verdict);  // "agreed", "explained", "disagreed", "not_compared"

// A decision of the other scheduler: the pod's node, or the reason of the failure.
struct Choice {
  std::string node;       // empty: no node was found
  std::string message;    // of the condition PodScheduled
  std::string nominated;  // the node nominated by preemption; empty: none
  // Of the claims that were allocated for the pod on the other scheduler's node: "namespace/name:
  // request=driver/pool/device", separated by "; ".
  std::string devices = {};
  bool bound() const { return !node.empty(); }
};

// One plugin's contribution to the totals of both nodes, after normalisation and before the weight.
struct ScorePart {
  std::string plugin;
  std::int64_t weight = 1;
  std::int64_t reference = 0, candidate = 0;
};

struct Comparison {
  WallTime when{};  // when the other scheduler's decision was observed
  std::string pod;  // namespace/name
  std::string profile;
  Choice reference;
  Choice candidate;  // of nodes with equal scores the first by name
  Outcome outcome = Outcome::kError;
  // The cause of the difference: the plugin that rejects the other scheduler's node and its reason, or the
  // score plugin with the largest loss. Empty if the decisions agree.
  std::string plugin, reason;
  std::string because;   // the explanation, if there is one
  std::string at_first;  // of kRaced: the outcome when the decision was observed

  std::size_t nodes = 0, feasible = 0;
  std::size_t better = 0;      // feasible nodes with a higher total than the other scheduler's node
  std::size_t equal_best = 0;  // nodes with the highest total
  std::int64_t reference_total = 0, candidate_total = 0;
  std::vector<ScorePart> parts;      // of both nodes, if these differ
  std::vector<std::string> victims;  // pods that Berth would evict

  Verdict verdict() const { return VerdictOf(outcome); }
  // True if other cluster states need not be searched for an explanation.
  bool settled() const { return verdict() == Verdict::kAgreed || outcome == Outcome::kSampled; }
};

// One line of JSON without newline.
std::string ToJson(const Comparison& comparison);
// One line of text: the decision, Berth's decision, and the reason.
std::string ToText(const Comparison& comparison);

}  // namespace berth::shadow
