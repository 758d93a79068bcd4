#include "scheduler/plugins/node_resource_topology_match/topology_cache.hpp"

namespace berth::plugins {

using Object = api::NodeResourceTopology;

Passthrough::Passthrough(framework::Handle& handle) : topologies_(handle.nodes) {
  const auto set = [this](const Object& object) {
    topologies_.Set(object.metadata.name, CompileNumaTopology(object, topologies_.names()));
  };
  auto& objects = handle.objects.Of<Object>();
  objects.ForEach([&](const auto& object) { set(*object); });
  objects.ListenFor(self_, [this, set](const ports::Change<Object>& change) {
    if (change.after != nullptr) return set(*change.after);
    topologies_.Remove(change.before->metadata.name);
  });
}

DiscardReserved::DiscardReserved(const std::string& profile, framework::Handle& handle)
    : handle_(handle), latest_(handle), reservations_(handle.Keep<Reservations>(profile)) {}

const RowSet& DiscardReserved::stale() {
  if (version_ == reservations_->version && node_changes_ == handle_.nodes.node_changes()) return rows_;
  version_ = reservations_->version;
  node_changes_ = handle_.nodes.node_changes();
  rows_.Resize(handle_.nodes.rows());
  rows_.Clear();
  for (const auto& [node, pods] : reservations_->pods) {
    if (const cluster::Row row = handle_.nodes.Find(node); row != cluster::kNoRow) rows_.Add(row);
  }
  return rows_;
}

void DiscardReserved::Reserve(const std::string& node, const api::Pod& pod) {
  reservations_->pods[node].insert(std::string(pod.metadata.uid));
  Changed(node);
}

void DiscardReserved::Release(const std::string& node, const api::Pod& pod) {
  const auto found = reservations_->pods.find(node);
  if (found == reservations_->pods.end()) return;
  found->second.erase(std::string(pod.metadata.uid));
  if (found->second.empty()) reservations_->pods.erase(found);
  Changed(node);
}

void DiscardReserved::Changed(const std::string& node) {
  ++reservations_->version;
  if (const cluster::Row row = handle_.nodes.Find(node); row != cluster::kNoRow)
    handle_.nodes.InvalidateResults(row);
}

}  // namespace berth::plugins
