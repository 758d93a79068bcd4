// The result of planning: moves, and the pods that were considered and stay.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kubernetes/api/pod.hpp"

namespace berth::rebalance {

// Why a pod is not evicted.
enum class Rejection : std::uint8_t {
  kProtected,     // by its kind, annotation, priority, namespace, storage, ...
  kBudget,        // its PodDisruptionBudget allows no disruption
  kTooYoung,      // it, or another pod of its workload, started recently
  kCoolDown,      // its workload was moved recently
  kNotMeasured,   // its usage is unknown
  kNoNode,        // the scheduler finds no node
  kSameNode,      // the scheduler would place it on the same node
  kDestination,   // its load would exceed the limit of the chosen node
  kWouldReturn,   // after the move, the scheduler would choose the old node again
  kTooLittle,     // the benefit is too small, or does not outweigh the cost
  kLimit,         // a limit of moves is reached
  kNotEvaluated,  // the limit of evaluations is reached
};
inline constexpr std::size_t kRejections = 12;
std::string_view NameOf(Rejection rejection);  // "too-young"

struct RejectedPod {
  std::string pod;  // "namespace/name"
  std::string node;
  Rejection why{};
  std::string reason;
};

// Loads in percent of the node.
struct Move {
  api::PodPtr pod;
  std::string workload;
  std::string from, to;
  std::vector<std::string> alternatives;  // other nodes that the scheduler finds equally good
  std::string signal;                     // that is above its threshold on `from`
  std::size_t signal_index = 0;           // as in OverloadedNode
  double threshold = 0;
  double pod_load = 0;
  double from_before = 0, from_after = 0;
  double to_before = 0, to_after = 0;
  double benefit = 0;              // by how much the higher of the two loads falls, in percent of a node
  double cost = 0;                 // in the same unit
  std::vector<std::string> costs;  // what contributes to the cost
  std::string reason;              // one sentence

  // Whose limits count: the workload, or a pod without one.
  std::string Subject() const { return workload.empty() ? pod->metadata.Key() : workload; }
};

struct OverloadedNode {
  std::string name;
  std::string signal;
  double load = 0;
  double lowest = 0;  // during the window
  double threshold = 0;
  std::string note;              // why no pod is moved; empty: pods were considered
  std::size_t signal_index = 0;  // in MeasuredLoad::signals: two profiles may name different ones alike
};

struct Plan {
  std::string stopped;  // why nothing was planned; empty: planned
  std::size_t measured_nodes = 0, nodes = 0;
  std::vector<OverloadedNode> overloaded;
  std::vector<Move> moves;            // in the order in which they are made, best first
  std::vector<RejectedPod> rejected;  // at most kRejectedShown
  std::vector<std::uint64_t> rejected_by_reason = std::vector<std::uint64_t>(kRejections);
  std::size_t evaluations = 0;  // decisions of the scheduler

  static constexpr std::size_t kRejectedShown = 1000;
  void Reject(RejectedPod pod) {
    ++rejected_by_reason[static_cast<std::size_t>(pod.why)];
    if (rejected.size() < kRejectedShown) rejected.push_back(std::move(pod));
  }
};

}  // namespace berth::rebalance
