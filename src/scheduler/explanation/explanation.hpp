// Why a pod is pending, or where it would be placed, as a value. Texts and API responses are renderings of
// it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "scheduler/explanation/change.hpp"
#include "scheduler/explanation/preemption_preview.hpp"
#include "scheduler/record/attempt_record.hpp"

namespace berth::explanation {

// One reason against nodes.
struct Reason {
  std::string plugin;
  std::string text;  // kube-scheduler's
  // The values that decided, for these nodes: sentences without a full stop, the most helpful first. Only for
  // the first groups of nodes, and of each for the first reasons.
  std::vector<std::string> values = {};
};

// The nodes that reject the pod for the same reasons. In contrast to the record, which has the first
// rejecting plugin only, these are the reasons of all plugins.
struct NodeGroup {
  std::vector<std::string> nodes;  // sorted
  std::vector<Reason> reasons;     // in profile order
  // How far the nearest of the nodes is from having enough resources: the largest missing part of a request,
  // from 0 (enough) to 1.
  double shortfall = 0;
};

// A change with which the pod fits, evaluated by running the filters with the change applied.
struct Advice {
  std::vector<std::string> steps;  // imperative, without a full stop; all are needed
  Change change;
  std::vector<std::string> nodes;  // that fit then; sorted, never empty, except with victims
  // Pods that would be evicted first ("namespace/name"), and the node; empty: no eviction is needed.
  std::vector<std::string> victims = {};
  std::string victims_node = {};
  bool names_node = false;  // a step contains a node's label kubernetes.io/hostname
};

struct Explanation {
  std::string pod;    // "namespace/name"
  std::string owner;  // "Deployment shop/web"; empty: no controller
  // The node that the pod has already; the evaluation is about the cluster without the pod. Empty: none.
  std::string bound_to;
  // The attempt. It must not outlive the engine.
  std::shared_ptr<const record::AttemptRecord> record = {};
  // PreFilter rejected the pod, whatever the node; then there are no groups.
  std::vector<Reason> pod_reasons = {};
  // Nodes that do not fit, the closest first: by number of reasons, then by shortfall. No reason at all: only
  // pods that are nominated to the nodes are in the way.
  std::vector<NodeGroup> groups = {};
  // What preemption would evict; empty if a node fits.
  PreemptionPreview preemption = {};
  // What would help, the easiest first. Empty if a node fits.
  std::vector<Advice> advice = {};
};

// Why the members of a group, or of a tree of composite groups, wait, or where they would be placed.
struct GroupExplanation {
  struct Member {
    std::string pod;   // "namespace/name"
    std::string node;  // that it has or would get; empty: none
    bool bound = false;
  };
  // A pod of another group, or of none, on one of the nodes that lack resources for the obstacle.
  struct Holder {
    std::string pod, node;
    std::string resource, amount;  // "cpu", "1500m"
  };

  // Evaluated as the scheduler does it, all members together. kGated: not tried, because members or the
  // group's object are missing or a member is gated; the message says so. Of a tree, min_count is that of its
  // root, and the other numbers are those of all its pods.
  record::GroupRecord record;
  std::vector<Member> members;  // those with a node, then the waiting ones in the order of the search
  // The first waiting member that found no node, with the earlier ones on theirs, or the first gated one; of
  // a tree, in the group that causes the failure, or none. Its advice is what would make the whole group fit.
  // Its record is null if the reason is none of single nodes.
  Explanation obstacle = {};
  // Of the nodes that lack least for it, the largest first.
  std::vector<Holder> holders = {};
};

}  // namespace berth::explanation
