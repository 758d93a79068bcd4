#include "scheduler/explanation/change.hpp"

#include <ranges>

namespace berth::explanation {

AppliedChange::AppliedChange(cluster::ClusterState& cluster, const Change& change) : cluster_(cluster) {
  for (const api::PodPtr& pod : change.leaving) {
    if (cluster_.RemovePod(pod->metadata.uid)) removed_.push_back(pod);
  }
  for (const api::NodePtr& node : change.nodes) {
    const cluster::NodeTable& table = cluster_.nodes();
    const cluster::Row row = table.Find(node->metadata.name);
    if (row == cluster::kNoRow) {
      cluster_.AddNode(node);
      added_.push_back(node->metadata.name);
    } else {
      // Shared, because the table drops its own reference.
      replaced_.push_back(std::make_shared<const api::Node>(table.node(row)));
      cluster_.UpdateNode(node);
    }
  }
  for (const auto& slice : change.slices) {
    cluster_.objects().Apply(ports::Change<api::ResourceSlice>{nullptr, slice});
    slices_.push_back(slice);
  }
}

AppliedChange::~AppliedChange() {
  for (const auto& slice : slices_)
    cluster_.objects().Apply(ports::Change<api::ResourceSlice>{slice, nullptr});
  for (const std::string& name : added_) cluster_.RemoveNode(name);
  for (const api::NodePtr& node : replaced_ | std::views::reverse) cluster_.UpdateNode(node);
  for (const api::PodPtr& pod : removed_) cluster_.AddPod(pod);
}

}  // namespace berth::explanation
