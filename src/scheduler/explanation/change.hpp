// A change of the pod or of the cluster that an advice proposes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kubernetes/api/objects.hpp"
#include "scheduler/assembly/engine.hpp"

namespace berth::explanation {

// A node, and the objects that come with it.
struct NewNode {
  api::NodePtr node;                   // no node has this name
  std::vector<api::PodPtr> pods = {};  // of DaemonSets, bound to it
  std::vector<std::shared_ptr<const api::ResourceSlice>> slices = {};
  std::shared_ptr<const api::CSINode> csi_node = {};               // null: none
  std::shared_ptr<const api::NodeResourceTopology> topology = {};  // null: none
};

struct Change {
  api::PodPtr pod = {};                   // the changed pod; null: unchanged
  std::vector<api::PodPtr> leaving = {};  // bound pods that end
  std::vector<api::NodePtr> nodes = {};   // changed versions of existing nodes
  std::vector<NewNode> new_nodes = {};

  bool changes_cluster() const { return !leaving.empty() || !nodes.empty() || !new_nodes.empty(); }
};

// Whether advice may change a node from the first version to the second one. Empty: every change is allowed.
using AllowsNodeChange = std::function<bool(const api::Node& before, const api::Node& after)>;

// Applies the cluster's part of a change, and reverts it on destruction. Nothing else may change the cluster
// meanwhile. Objects are restored as they were; rows of nodes may differ from the ones before for added nodes
// only.
class AppliedChange {
 public:
  AppliedChange(cluster::ClusterState& cluster, const Change& change);
  ~AppliedChange();
  AppliedChange(const AppliedChange&) = delete;
  AppliedChange& operator=(const AppliedChange&) = delete;

 private:
  void Replace(const api::NodePtr& node);
  void Add(const NewNode& added);
  void Remove(const NewNode& added);

  cluster::ClusterState& cluster_;
  std::vector<api::PodPtr> removed_;
  std::vector<api::NodePtr> replaced_;  // the former versions
  std::vector<NewNode> added_;
};

}  // namespace berth::explanation
