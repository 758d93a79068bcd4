// The entries of the scheduling queue, pods and pod groups, with the history of their attempts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "kubernetes/api/pod_group.hpp"
#include "observability/tracing/attempt_trace.hpp"
#include "scheduler/cluster/pod_groups.hpp"
#include "scheduler/cluster/pod_info.hpp"

namespace berth::framework {

struct QueuedPod;

// What pods and pod groups have in common. A QueueSort plugin compares two of them. Owned by the queue, which
// sets all members.
struct QueuedEntity {
  virtual ~QueuedEntity() = default;
  // The pod itself; of a group, the member that is scheduled first.
  virtual const QueuedPod& leading_pod() const = 0;

  std::int32_t priority = 0;     // of a group: the group's own, or the highest of its members
  MonoTime timestamp;            // when it was last put into a queue
  MonoTime first_attempt_ready;  // when it first entered activeQ; epoch: never
  MonoTime attempt_started;      // of the last attempt
  MonoTime backoff_expiry;       // of the last failed attempt; epoch: none
  // when it last left the unschedulable queue because of the timeout; epoch: never
  MonoTime flushed;
  bool was_flushed = false;  // since then, no attempt has ended
  std::int32_t attempts = 0;
  std::int32_t unschedulable_count = 0;  // attempts that ended in a rejection; determines the back-off
  std::int32_t consecutive_errors = 0;   // attempts since the last rejection that ended in an error
  // Plugins that rejected the pod in its last attempt, including the one that gates it; no duplicates. Groups
  // have none.
  std::vector<std::string> rejectors;
  std::vector<std::string> pending;  // those that returned Pending: no back-off when they requeue the pod
  // The PreEnqueue plugin that gates the pod or a member of the group; empty: not gated.
  std::string gated_by;

  bool gated() const { return !gated_by.empty(); }

 protected:
  QueuedEntity() = default;
  QueuedEntity(const QueuedEntity&) = default;
  QueuedEntity& operator=(const QueuedEntity&) = default;
};

// A pod on its own, or a member of a group.
struct QueuedPod final : QueuedEntity {
  const QueuedPod& leading_pod() const override { return *this; }

  cluster::PodInfo info;
  std::uint32_t profile = 0;          // index of the scheduler's profile for this pod
  std::uint32_t evaluated_nodes = 0;  // in the last attempt that found a node; set only if it is logged
  std::uint32_t feasible_nodes = 0;   // of the evaluated nodes
  std::shared_ptr<tracing::AttemptTrace> trace;  // of the current attempt, if it is traced
  std::string nominated;  // the node written to its status in this attempt; `info` may be older
};
using QueuedPodPtr = std::shared_ptr<QueuedPod>;

// A pod group, or the root of a tree of composite groups with the members of all its pod groups
// (kube-scheduler v1.37.1's QueuedPodGroupInfo). `members` is complete from Pop on; before, the queue keeps
// the members.
struct QueuedGroup final : QueuedEntity {
  const QueuedPod& leading_pod() const override { return *members.front(); }

  std::string key;  // cluster::KeyOf(*object)
  std::shared_ptr<const api::PodGroup> object;
  std::shared_ptr<const cluster::GroupTree> tree;  // of a composite group, from Pop on; else null
  std::vector<QueuedPodPtr> members;               // in the order in which they are scheduled; not empty
};
using QueuedGroupPtr = std::shared_ptr<QueuedGroup>;

}  // namespace berth::framework
