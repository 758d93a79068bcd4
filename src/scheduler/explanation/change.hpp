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

struct Change {
  api::PodPtr pod = {};                   // the changed pod; null: unchanged
  std::vector<api::PodPtr> leaving = {};  // bound pods that end
  std::vector<api::NodePtr> nodes = {};   // added; or changed, if a node of this name exists
  std::vector<std::shared_ptr<const api::ResourceSlice>> slices = {};  // added

  bool changes_cluster() const { return !leaving.empty() || !nodes.empty() || !slices.empty(); }
};

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
  cluster::ClusterState& cluster_;
  std::vector<api::PodPtr> removed_;
  std::vector<api::NodePtr> replaced_;  // the former versions
  std::vector<std::string> added_;      // names of nodes
  std::vector<std::shared_ptr<const api::ResourceSlice>> slices_;
};

}  // namespace berth::explanation
