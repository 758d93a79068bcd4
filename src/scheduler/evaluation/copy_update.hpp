// What brings a copy of the cluster up to date: values that may be used on any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "kubernetes/ports/ports.hpp"
#include "scheduler/cluster/pod_groups.hpp"
#include "scheduler/load_metrics/signal_table.hpp"

namespace berth::evaluation {

// A row of the live node table that has changed.
struct RowState {
  cluster::Row row = 0;
  api::NodePtr node;              // null: the row has no node
  std::vector<api::PodPtr> pods;  // bound and assumed; the latter have no node name
};

// The values of a signal for nodes.
struct SignalState {
  load_metrics::SignalSpec spec;
  load_metrics::SignalState state = load_metrics::SignalState::kWaiting;
  MonoTime polled_at{};
  std::string error;
  std::vector<double> values;  // by live row; NaN: unknown
};

struct NominatedPod {
  api::PodPtr pod;
  std::string node;
};

// A group of the tree to which the group of the evaluated pod belongs.
struct GroupState {
  std::string key;
  api::PodGroupPtr object;  // null: not received
  std::vector<cluster::PodGroups::Member> members;
};

// Rows and objects are in the order of their changes: later entries replace earlier ones.
struct CopyUpdate {
  bool complete = false;  // contains everything: what the copy has is dropped
  std::vector<RowState> rows;
  std::vector<ports::ClusterChange> objects;  // of kinds other than nodes, pods and pod groups
  std::vector<SignalState> signals;           // those with new values
  std::vector<NominatedPod> nominated;        // all of them
  std::vector<GroupState> groups;             // the evaluated pod's first
  std::vector<api::PodGroupPtr> composites;   // of the same tree
  api::PodPtr pending;                        // the pod that is asked for, if it has no node; else null
  WallTime as_of;
  std::vector<std::string> left_out;  // what the copy lacks; texts for users
};

}  // namespace berth::evaluation
