// Why a pod is pending, or where it would be placed, as a value. Texts and API responses are renderings of
// it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "scheduler/explanation/change.hpp"
#include "scheduler/record/attempt_record.hpp"

namespace berth::explanation {

// One reason against nodes.
struct Reason {
  std::string plugin;
  std::string text;  // kube-scheduler's
  // The values that decided, for these nodes: sentences without a full stop, the most helpful first.
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
  // What would help, the easiest first. Empty if a node fits.
  std::vector<Advice> advice = {};
};

}  // namespace berth::explanation
