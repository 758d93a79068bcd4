#include "scheduler/cluster/cluster_state.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "scheduler/cluster/prepare_pod.hpp"

namespace berth::cluster {
namespace {

// Deprecated label names take precedence, as in kube-scheduler.
std::string ZoneKey(const api::Node& node) {
  const auto label = [&](std::string_view legacy, std::string_view current) -> std::string {
    if (const std::string* value = node.metadata.labels.Find(legacy)) return *value;
    const std::string* value = node.metadata.labels.Find(current);
    return value == nullptr ? "" : *value;
  };
  const std::string region =
      label("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region");
  const std::string zone = label("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone");
  return region.empty() && zone.empty() ? "" : region + '\n' + zone;
}

}  // namespace

std::span<const Row> ClusterState::VisitingOrder() {
  if (order_stale_) {
    order_.clear();
    order_.reserve(table_.node_count());
    std::size_t longest = 0;
    for (const Zone& zone : zones_) longest = std::max(longest, zone.rows.size());
    for (std::size_t turn = 0; turn < longest; ++turn) {
      for (const Zone& zone : zones_) {
        if (turn < zone.rows.size()) order_.push_back(zone.rows[turn]);
      }
    }
    order_stale_ = false;
  }
  return order_;
}

void ClusterState::AddNode(api::NodePtr node) {
  const NodeNameId name = symbols_.node_names.Intern(node->metadata.name);
  if (table_.Find(name) != kNoRow) return UpdateNode(std::move(node));
  const Row row = table_.Add(std::move(node));
  if (const auto waiting = pods_without_node_.find(name); waiting != pods_without_node_.end()) {
    for (PodState* pod : waiting->second) table_.AddPod(row, pod->placed);
    pods_without_node_.erase(waiting);
  }
  AddToZone(row);
  ++node_generation_;
}

void ClusterState::UpdateNode(api::NodePtr node) {
  const Row row = table_.Find(node->metadata.name);
  if (row == kNoRow) return AddNode(std::move(node));
  const bool moves = ZoneKey(table_.node(row)) != ZoneKey(*node);
  if (moves) RemoveFromZone(row);
  table_.Update(row, std::move(node));
  if (moves) AddToZone(row);
}

void ClusterState::RemoveNode(const std::string& name) {
  const Row row = table_.Find(name);
  if (row == kNoRow) return;
  RemoveFromZone(row);
  while (!table_.pods(row).empty()) {
    const auto known = pods_.find(Uid(table_.pods(row).back()->pod->metadata.uid));
    BERTH_CHECK(known != pods_.end(), name, table_.pods(row).back()->pod->metadata.uid);
    PodState& pod = *known->state;
    table_.RemovePod(row, pod.placed);
    pods_without_node_[pod.node].push_back(&pod);
  }
  table_.Remove(row);
  ++node_generation_;
}

void ClusterState::AddPod(api::PodPtr pod) {
  SymbolScope scope(symbols_);
  const NodeNameId node = scope.InternNodeName(pod->spec.node_name);
  const auto known = pods_.find(Uid(pod->metadata.uid));
  // Most assumed pods are bound as they were assumed, and most updates of bound pods are reports of the
  // kubelet. Nothing on the row has changed then, so results that are cached for the row stay valid.
  if (known != pods_.end() && IsAsKnown(*known->state, *pod, node)) {
    PodState& state = *known->state;
    table_.ReplacePod(table_.Find(node), state.placed, std::move(pod));
    state.symbols = scope.Lease();
    if (std::exchange(state.assumed, false)) --assumed_;
    return;
  }
  RemovePod(pod->metadata.uid);
  PodState* added = Insert(pod);
  BERTH_CHECK(added != nullptr, pod->metadata.uid);
  PodState& state = *added;
  state.placed.takes = uses_.Of(*pod);
  state.node = node;
  state.symbols = scope.Lease();
  Place(state);
}

bool ClusterState::IsAsKnown(const PodState& known, const api::Pod& pod, NodeNameId node) const {
  return known.node == node && table_.Find(node) != kNoRow && SameShape(*known.placed.pod, pod);
}

ClusterState::PodState* ClusterState::Insert(api::PodPtr pod) {
  const std::size_t hash = Uid(pod->metadata.uid).hash;
  auto state = std::make_unique<PodState>();
  state->placed.pod = std::move(pod);
  const auto [known, added] = pods_.insert(PodEntry{hash, std::move(state)});
  return added ? known->state.get() : nullptr;
}

bool ClusterState::RemovePod(const std::string& uid) {
  const auto found = pods_.find(Uid(uid));
  if (found == pods_.end()) return false;
  if (found->state->assumed) {
    BERTH_CHECK(assumed_ > 0, uid, pods_.size());
    --assumed_;
  }
  RemoveFromNode(*found->state);
  pods_.erase(found);
  return true;
}

bool ClusterState::Assume(const PodInfo& pod, Row row) {
  BERTH_CHECK(table_.all().Has(row), pod.key, row, table_.rows());
  PodState* state = Insert(pod.pod);
  if (state == nullptr) return false;
  state->placed.takes = pod.shape->use;
  state->node = table_.name_id(row);
  state->assumed = true;
  ++assumed_;
  table_.AddPod(row, state->placed);
  return true;
}

bool ClusterState::Forget(const std::string& uid) { return IsAssumed(uid) && RemovePod(uid); }

bool ClusterState::IsAssumed(const std::string& uid) const {
  const auto found = pods_.find(Uid(uid));
  return found != pods_.end() && found->state->assumed;
}

void ClusterState::AppendBoundPods(std::vector<api::PodPtr>& out) const {
  out.reserve(out.size() + pods_.size());
  for (const PodEntry& pod : pods_) {
    if (!pod.state->assumed) out.push_back(pod.state->placed.pod);
  }
}

api::PodPtr ClusterState::FindPod(const std::string& uid) const {
  const auto found = pods_.find(Uid(uid));
  if (found == pods_.end()) return nullptr;
  const PodState& state = *found->state;
  if (!state.assumed) return state.placed.pod;
  auto assumed = std::make_shared<api::Pod>(*state.placed.pod);
  assumed->spec.node_name = symbols_.node_names.Text(state.node);
  return assumed;
}

void ClusterState::ReleaseUnused() {
  uses_.ReleaseUnused();
  symbols_.ReleaseUnused();
}

void ClusterState::Place(PodState& pod) {
  if (const Row row = table_.Find(pod.node); row != kNoRow) {
    table_.AddPod(row, pod.placed);
  } else {
    pods_without_node_[pod.node].push_back(&pod);
  }
}

void ClusterState::RemoveFromNode(PodState& pod) {
  if (const Row row = table_.Find(pod.node); row != kNoRow) {
    table_.RemovePod(row, pod.placed);
    return;
  }
  const auto entry = pods_without_node_.find(pod.node);
  BERTH_CHECK(entry != pods_without_node_.end(), pod.node, pod.placed.pod->metadata.uid);
  std::erase(entry->second, &pod);
  if (entry->second.empty()) pods_without_node_.erase(entry);
}

void ClusterState::AddToZone(Row row) {
  const std::string key = ZoneKey(table_.node(row));
  auto zone = std::ranges::find(zones_, key, &Zone::key);
  if (zone == zones_.end()) zone = zones_.insert(zones_.end(), {key, {}});
  zone->rows.push_back(row);
  order_stale_ = true;
}

void ClusterState::RemoveFromZone(Row row) {
  const auto zone = std::ranges::find(zones_, ZoneKey(table_.node(row)), &Zone::key);
  BERTH_CHECK(zone != zones_.end(), row, zones_.size());
  BERTH_CHECK(std::erase(zone->rows, row) == 1, row, zone->key);
  if (zone->rows.empty()) zones_.erase(zone);
  order_stale_ = true;
}

}  // namespace berth::cluster
