// What another scheduler did with one pod, beside what Berth would have done.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"

namespace berth::shadow {

enum class Outcome : std::uint8_t {
  // They agree.
  kSame,           // the one best node
  kTie,            // one of several equally good nodes, of which either takes any by chance
  kUnschedulable,  // no node fits, for the same reasons, word for word
  // They differ, and it is known why.
  kSampled,  // a lower score: kube-scheduler scores only a part of the nodes
  kRaced,    // they agree on the cluster as it looked a moment before or after
  kCounts,   // no node fits, for the same reasons, but for other numbers of nodes
  // They differ.
  kWorse,       // a lower score
  kInfeasible,  // Berth rejects the node
  kPlaceable,   // Berth has a node for the pod
  kMessage,     // no node fits, for other reasons
  kNomination,  // another node is to be freed by preemption, or none
  kError,       // Berth could not decide
  // Nothing can be said.
  kMissed,      // the change was not seen when it happened: a watch was interrupted
  kTheirError,  // the other scheduler reported an error
};
inline constexpr std::size_t kOutcomes = 14;
std::string_view OutcomeName(Outcome outcome);  // "same", ..., "their_error"

enum class Verdict : std::uint8_t { kAgreed, kExplained, kDisagreed, kNotCompared };
inline constexpr std::size_t kVerdicts = 4;
Verdict VerdictOf(Outcome outcome);
std::string_view VerdictName(Verdict verdict);  // "agreed", "explained", "disagreed", "not_compared"

// What the other scheduler did: it bound the pod to a node, or said why not.
struct Choice {
  std::string node;       // empty: no node was found
  std::string message;    // of the condition PodScheduled
  std::string nominated;  // the node that preemption frees for the pod; empty: none
  bool bound() const { return !node.empty(); }
};

// One plugin's part of the totals of both nodes, after normalisation and before weight.
struct ScorePart {
  std::string plugin;
  std::int64_t weight = 1;
  std::int64_t theirs = 0, ours = 0;
};

struct Comparison {
  WallTime when{};  // their choice was seen
  std::string pod;  // namespace/name
  std::string profile;
  Choice theirs;
  Choice ours;  // of equally good nodes the first by name
  Outcome outcome = Outcome::kError;
  // Who and what makes the difference: the plugin that rejects their node and why, or the score plugin in
  // which it loses most; both empty where they agree.
  std::string plugin, reason;
  std::string because;   // of explained ones: what explains it
  std::string at_first;  // of those that raced: what they looked like when they were seen

  std::size_t nodes = 0, feasible = 0;
  std::size_t better = 0;      // feasible nodes with a higher total than theirs
  std::size_t equal_best = 0;  // nodes with the highest total
  std::int64_t their_total = 0, our_total = 0;
  std::vector<ScorePart> parts;      // of both nodes, where they differ
  std::vector<std::string> victims;  // whom Berth would drive out

  Verdict verdict() const { return VerdictOf(outcome); }
  // Nothing is left to be explained by another view of the cluster.
  bool settled() const { return verdict() == Verdict::kAgreed || outcome == Outcome::kSampled; }
};

// One line of JSON without newline.
std::string ToJson(const Comparison& comparison);
// One line for people: what happened, what Berth would have done, and why.
std::string ToText(const Comparison& comparison);

}  // namespace berth::shadow
