#include "scheduler/plugins/node_resource_topology_match/numa_topologies.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace berth::plugins {
namespace {

std::string KeyOfGroup(const NumaTopology& topology) {
  std::vector<std::uint32_t> resources;
  for (const NumaResourceId resource : topology.resources) resources.push_back(resource.value);
  return fmt::format("{} {} {} [{}] [{}] [{}] [{}] {}", topology.single_numa_node,
                     std::to_underlying(topology.scope), topology.max_numa_nodes,
                     fmt::join(topology.ids, " "), fmt::join(resources, " "), fmt::join(topology.listed, " "),
                     fmt::join(topology.distances, " "), topology.invalid);
}

}  // namespace

NumaTopologies::NumaTopologies(cluster::NodeTable& nodes) : nodes_(nodes) { nodes_.Observe(*this); }

NumaTopologies::~NumaTopologies() { nodes_.Forget(*this); }

void NumaTopologies::Set(const std::string& node, NumaTopology topology) {
  const auto found = by_node_.try_emplace(node).first;
  const std::vector<std::int64_t> available = std::exchange(topology.available, {});
  TopologyGroup& group = GroupOf(std::move(topology));
  Entry& entry = found->second;
  if (entry.group == &group) {
    std::int64_t* const known = group.available.data() + entry.slot * group.stride();
    if (std::equal(available.begin(), available.end(), known)) return;
    std::ranges::copy(available, known);
  } else {
    const Entry before = entry;
    Join(group, found->first, available, entry);
    if (before.group != nullptr) Leave(before);
  }
  if (const cluster::Row row = Show(node, {entry.group, entry.slot}); row != cluster::kNoRow)
    nodes_.InvalidateResults(row);
}

void NumaTopologies::Remove(const std::string& node) {
  const auto found = by_node_.find(node);
  if (found == by_node_.end()) return;
  if (const cluster::Row row = Show(node, {}); row != cluster::kNoRow) nodes_.InvalidateResults(row);
  Leave(found->second);
  by_node_.erase(found);
}

TopologyGroup& NumaTopologies::GroupOf(NumaTopology topology) {
  std::string key = KeyOfGroup(topology);
  if (const auto found = group_of_key_.find(key); found != group_of_key_.end()) {
    ReleaseNames(topology, names_);
    return *found->second;
  }
  auto group = std::make_unique<TopologyGroup>();
  group->index = static_cast<std::uint32_t>(groups_.size());
  group->key = std::move(key);
  group->topology = std::move(topology);
  group_of_key_.emplace(group->key, group.get());
  TopologyGroup& created = *group;
  if (free_.empty()) {
    groups_.push_back(std::move(group));
  } else {
    created.index = free_.back();
    free_.pop_back();
    groups_[created.index] = std::move(group);
  }
  return created;
}

void NumaTopologies::Join(TopologyGroup& group, const std::string& node,
                          const std::vector<std::int64_t>& available, Entry& entry) {
  entry = {&group, static_cast<std::uint32_t>(group.members.size())};
  group.members.push_back(&node);
  group.available.insert(group.available.end(), available.begin(), available.end());
}

// The last member takes the slot.
void NumaTopologies::Leave(const Entry& entry) {
  TopologyGroup& group = *entry.group;
  const std::size_t last = group.members.size() - 1;
  if (entry.slot != last) {
    const std::string& moved = *group.members[last];
    std::copy_n(group.amounts(static_cast<std::uint32_t>(last)), group.stride(),
                group.available.data() + entry.slot * group.stride());
    group.members[entry.slot] = &moved;
    by_node_.find(moved)->second.slot = entry.slot;
    Show(moved, {&group, entry.slot});
  }
  group.members.pop_back();
  group.available.resize(last * group.stride());
  if (!group.members.empty()) return;
  ReleaseNames(group.topology, names_);
  group_of_key_.erase(group.key);
  free_.push_back(group.index);
  groups_[group.index] = nullptr;
}

cluster::Row NumaTopologies::Show(const std::string& node, RowTopology place) {
  const cluster::Row row = nodes_.Find(node);
  if (row != cluster::kNoRow) by_row_[row] = place;
  return row;
}

void NumaTopologies::OnNodeAdded(cluster::Row row) {
  if (by_row_.size() < nodes_.rows()) by_row_.resize(nodes_.rows());
  const auto found = by_node_.find(nodes_.name(row));
  by_row_[row] =
      found == by_node_.end() ? RowTopology() : RowTopology{found->second.group, found->second.slot};
}

void NumaTopologies::OnNodeRemoved(cluster::Row row) { by_row_[row] = {}; }

}  // namespace berth::plugins
