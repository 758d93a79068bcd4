#include "scheduler/explanation/change.hpp"

#include <ranges>

namespace berth::explanation {
namespace {

template <class T>
void Put(cluster::ClusterState& cluster, const std::shared_ptr<const T>& object) {
  if (object != nullptr) cluster.objects().Apply(ports::Change<T>{nullptr, object});
}

template <class T>
void Take(cluster::ClusterState& cluster, const std::shared_ptr<const T>& object) {
  if (object != nullptr) cluster.objects().Apply(ports::Change<T>{object, nullptr});
}

}  // namespace

AppliedChange::AppliedChange(cluster::ClusterState& cluster, const Change& change) : cluster_(cluster) {
  for (const api::PodPtr& pod : change.leaving) {
    if (cluster_.RemovePod(pod->metadata.uid)) removed_.push_back(pod);
  }
  for (const api::NodePtr& node : change.nodes) Replace(node);
  for (const NewNode& added : change.new_nodes) Add(added);
}

AppliedChange::~AppliedChange() {
  for (const NewNode& added : added_ | std::views::reverse) Remove(added);
  for (const api::NodePtr& node : replaced_ | std::views::reverse) cluster_.UpdateNode(node);
  for (const api::PodPtr& pod : removed_) cluster_.AddPod(pod);
}

void AppliedChange::Replace(const api::NodePtr& node) {
  const cluster::NodeTable& table = cluster_.nodes();
  const cluster::Row row = table.Find(node->metadata.name);
  // To restore a node that did not exist would add it.
  if (row == cluster::kNoRow) return;
  // Shared, because the table drops its own reference.
  replaced_.push_back(std::make_shared<const api::Node>(table.node(row)));
  cluster_.UpdateNode(node);
}

void AppliedChange::Add(const NewNode& added) {
  cluster_.AddNode(added.node);
  for (const api::PodPtr& pod : added.pods) cluster_.AddPod(pod);
  for (const auto& slice : added.slices) Put(cluster_, slice);
  Put(cluster_, added.csi_node);
  Put(cluster_, added.topology);
  added_.push_back(added);
}

void AppliedChange::Remove(const NewNode& added) {
  Take(cluster_, added.topology);
  Take(cluster_, added.csi_node);
  for (const auto& slice : added.slices) Take(cluster_, slice);
  for (const api::PodPtr& pod : added.pods) cluster_.RemovePod(pod->metadata.uid);
  cluster_.RemoveNode(added.node->metadata.name);
}

}  // namespace berth::explanation
