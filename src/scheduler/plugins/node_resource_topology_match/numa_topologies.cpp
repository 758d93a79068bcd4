#include "scheduler/plugins/node_resource_topology_match/numa_topologies.hpp"

#include <utility>

namespace berth::plugins {

NumaTopologies::NumaTopologies(cluster::NodeTable& nodes) : nodes_(nodes) { nodes_.Observe(*this); }

NumaTopologies::~NumaTopologies() { nodes_.Forget(*this); }

const NumaTopology* NumaTopologies::Find(const std::string& node) const {
  const auto found = by_node_.find(node);
  return found == by_node_.end() ? nullptr : &found->second;
}

cluster::Row NumaTopologies::RowOf(const std::string& node) const {
  const cluster::NodeNameId name = nodes_.symbols().node_names.Find(node);
  return name.known() ? nodes_.Find(name) : cluster::kNoRow;
}

void NumaTopologies::Set(const std::string& node, NumaTopology topology) {
  const auto [entry, added] = by_node_.try_emplace(node);
  if (!added && entry->second == topology) return ReleaseNames(topology, names_);
  if (!added) ReleaseNames(entry->second, names_);
  entry->second = std::move(topology);
  Show(node, &entry->second);
}

void NumaTopologies::Remove(const std::string& node) {
  const auto found = by_node_.find(node);
  if (found == by_node_.end()) return;
  Show(node, nullptr);
  ReleaseNames(found->second, names_);
  by_node_.erase(found);
}

void NumaTopologies::Show(const std::string& node, const NumaTopology* topology) {
  const cluster::Row row = RowOf(node);
  if (row == cluster::kNoRow) return;
  by_row_[row] = topology;
  nodes_.InvalidateResults(row);
}

void NumaTopologies::OnNodeAdded(cluster::Row row) {
  if (by_row_.size() < nodes_.rows()) by_row_.resize(nodes_.rows());
  by_row_[row] = Find(nodes_.name(row));
}

void NumaTopologies::OnNodeRemoved(cluster::Row row) { by_row_[row] = nullptr; }

}  // namespace berth::plugins
