// The state of a search for the nodes of a group; private to this module.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "scheduler/cycle/group_cycle.hpp"

namespace berth::cycle {

// The nominations of placed members: deleted while these are on nodes, then set again as the pods' status
// says, like in kube-scheduler.
class TakenNominations {
 public:
  explicit TakenNominations(queue::Nominator& nominator) : nominator_(nominator) {}
  TakenNominations(const TakenNominations&) = delete;
  TakenNominations& operator=(const TakenNominations&) = delete;
  ~TakenNominations() {
    for (const framework::QueuedPodPtr& pod : pods_) GiveBack(pod);
  }

  void Take(const framework::QueuedPodPtr& pod) {
    nominator_.Delete(pod->info.pod->metadata.uid);
    pods_.push_back(pod);
  }
  // Keeps the first `count` pods.
  void GiveBackAfter(std::size_t count) {
    for (std::size_t i = count; i < pods_.size(); ++i) GiveBack(pods_[i]);
    pods_.resize(count);
  }

 private:
  void GiveBack(const framework::QueuedPodPtr& pod) {
    if (pod->info.nominated.known()) nominator_.Set(pod);
  }
  queue::Nominator& nominator_;
  std::vector<framework::QueuedPodPtr> pods_;
};

// The members that have a node so far. Reverts them when it is destroyed, the last one first.
class GroupCycle::Placed {
 public:
  explicit Placed(const Parts& parts, const runtime::Profile& profile) : parts_(parts), profile_(profile) {}
  Placed(const Placed&) = delete;
  Placed& operator=(const Placed&) = delete;
  ~Placed() { RevertAfter(0); }

  std::size_t size() const { return members_.size(); }
  // Keeps the first `count` members.
  void RevertAfter(std::size_t count) {
    while (members_.size() > count) {
      Revert(members_.back());
      members_.pop_back();
    }
  }

  // A status other than Success: the pod is not placed. `pod` and `state` must outlive this object.
  framework::Status Add(const framework::QueuedPod& pod, cluster::Row row, framework::CycleState& state) {
    framework::Status reserved = AddAnyway(pod, row, state);
    if (!reserved.ok()) RevertAfter(members_.size() - 1);
    return reserved;
  }
  // The pod is placed, whatever the status of Reserve.
  framework::Status AddAnyway(const framework::QueuedPod& pod, cluster::Row row,
                              framework::CycleState& state) {
    const bool assumed = parts_.cluster.Assume(pod.info, row);
    BERTH_CHECK(assumed, pod.info.key, pod.info.pod->metadata.uid);
    members_.push_back({pod.info, parts_.cluster.nodes().name(row), state});
    return profile_.RunReserve({pod.info, members_.back().node, state});
  }

 private:
  struct Member {
    const cluster::PodInfo& pod;
    std::string node;
    framework::CycleState& state;
  };
  void Revert(const Member& member) {
    profile_.RunUnreserve({member.pod, member.node, member.state});
    const bool forgotten = parts_.cluster.Forget(member.pod.pod->metadata.uid);
    BERTH_CHECK(forgotten, member.pod.key, member.node);
  }

  const Parts& parts_;
  const runtime::Profile& profile_;
  std::deque<Member> members_;
};

// The members that are on nodes in a search, without their nominations. They are reverted when this object is
// destroyed.
class GroupCycle::Assumed {
 public:
  Assumed(const Parts& parts, std::uint32_t profile)
      : profile_index_(profile),
        profile_(*parts.profiles[profile]),
        nominations_(parts.nominator),
        placed_(parts, profile_) {}

  std::uint32_t profile_index() const { return profile_index_; }
  const runtime::Profile& profile() const { return profile_; }
  std::size_t size() const { return placed_.size(); }

  // A status other than Success: the pod is not placed. It must outlive this object.
  framework::Status Add(MemberResult& member) {
    nominations_.Take(member.pod);
    framework::Status status = placed_.Add(*member.pod, member.decision.row, member.decision.state);
    if (!status.ok()) nominations_.GiveBackAfter(placed_.size());
    return status;
  }
  // Keeps the first `count` members.
  void RevertAfter(std::size_t count) {
    placed_.RevertAfter(count);
    nominations_.GiveBackAfter(count);
  }

 private:
  const std::uint32_t profile_index_;
  const runtime::Profile& profile_;
  TakenNominations nominations_;
  Placed placed_;
};

// A placement in which the group can be scheduled. Its result is not kept, because results are large and
// there may be as many placements as nodes.
struct GroupCycle::Candidate {
  framework::FeasiblePlacement feasible;
  algorithm::SchedulingAlgorithm::Position before;  // at the start of its search
};

template <class Run>
auto GroupCycle::SearchAgain(const Candidate& candidate, Run&& search) {
  const auto after = parts_.algorithm.position();
  parts_.algorithm.Restore(candidate.before);
  auto result = search(candidate.feasible.placement->rows);
  parts_.algorithm.Restore(after);
  return result;
}

// The result for a group of a tree.
struct GroupCycle::TreeResult {
  bool decided = false;  // else a group above it failed before its turn
  GroupResult result;    // of a composite group without members
  std::vector<TreeResult>
      children;  // of a composite group, in the order of the tree; empty: none was decided
};

struct GroupCycle::TreeSearch {
  const TreeLeaves& leaves;
  Assumed& assumed;
};

// kube-scheduler lets the groups that fail with one above them share its status. The texts of
// PodGroupPostFilter are then added to it once for each of them.
struct GroupCycle::SharedStatus {
  framework::Status status;
  std::size_t groups = 0;
};

}  // namespace berth::cycle
