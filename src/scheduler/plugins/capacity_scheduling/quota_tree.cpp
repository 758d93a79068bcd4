#include "scheduler/plugins/capacity_scheduling/quota_tree.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.hpp"

namespace berth::plugins {
namespace {

constexpr std::uint64_t BitOf(std::size_t resource) { return std::uint64_t{1} << resource; }

}  // namespace

QuotaTree::QuotaTree(std::size_t resources) : resources_(resources) {
  BERTH_CHECK(resources <= kMostResources, resources);
  Node& root = nodes_.emplace_back();
  root.runtime.resize(resources);
}

QuotaTree::Id QuotaTree::Add(Id parent, Group group) {
  BERTH_CHECK(parent < nodes_.size(), parent, nodes_.size());
  BERTH_CHECK(
      group.min.size() == resources_ && group.max.size() == resources_ && group.weight.size() == resources_,
      resources_, group.min.size(), group.max.size(), group.weight.size());
  const Id id = static_cast<Id>(nodes_.size());
  Node& node = nodes_.emplace_back();
  node.parent = parent;
  node.group = std::move(group);
  node.requested.resize(resources_);
  node.limited.resize(resources_);
  node.runtime.resize(resources_);
  nodes_[parent].children.push_back(id);
  for (std::size_t resource = 0; resource < resources_; ++resource) {
    BERTH_CHECK(nodes_[id].group.min[resource] <= nodes_[id].group.max[resource], id, resource);
    // A minimum changes the scale of the siblings' minimums even if nothing is requested.
    nodes_[parent].stale |= BitOf(resource);
    Propagate(id, resource);
  }
  return id;
}

void QuotaTree::SetTotal(std::size_t resource, std::int64_t total) {
  Node& root = nodes_[kRoot];
  total = std::max<std::int64_t>(total, 0);
  if (std::exchange(root.runtime[resource], total) != total) root.stale |= BitOf(resource);
}

void QuotaTree::AddRequest(Id group, std::size_t resource, std::int64_t amount) {
  Node& node = nodes_[group];
  node.requested[resource] += amount;
  BERTH_CHECK(group != kRoot && node.requested[resource] >= 0, group, resource, amount);
  Propagate(group, resource);
}

std::int64_t QuotaTree::Limit(const Node& node, std::size_t resource) const {
  Sum request = node.requested[resource];
  if (!node.group.lends) request = std::max<Sum>(request, node.group.min[resource]);
  return static_cast<std::int64_t>(std::min<Sum>(request, node.group.max[resource]));
}

// The limited requests of the group and of those above it have changed.
void QuotaTree::Propagate(Id group, std::size_t resource) {
  for (Id id = group; id != kRoot;) {
    Node& node = nodes_[id];
    const std::int64_t limited = Limit(node, resource);
    const std::int64_t before = std::exchange(node.limited[resource], limited);
    if (limited == before) return;
    Node& parent = nodes_[node.parent];
    parent.stale |= BitOf(resource);
    if (node.parent != kRoot) parent.requested[resource] += Sum{limited} - before;
    id = node.parent;
  }
}

std::span<const std::int64_t> QuotaTree::Runtime(Id group) {
  path_.clear();
  for (Id id = group; id != kRoot; id = nodes_[id].parent) path_.push_back(nodes_[id].parent);
  while (!path_.empty()) {
    Node& parent = nodes_[path_.back()];
    path_.pop_back();
    for (std::size_t resource = 0; parent.stale != 0 && resource < resources_; ++resource) {
      if ((parent.stale & BitOf(resource)) == 0) continue;
      parent.stale &= ~BitOf(resource);
      ShareAmongChildren(parent, resource);
    }
  }
  return nodes_[group].runtime;
}

std::int64_t QuotaTree::LimitedRequest(Id group, std::size_t resource) const {
  return nodes_[group].limited[resource];
}

void QuotaTree::ShareAmongChildren(Node& parent, std::size_t resource) {
  const std::int64_t all = parent.runtime[resource];
  Product minimums = 0;
  for (const Id child : parent.children)
    minimums += static_cast<std::uint64_t>(nodes_[child].group.min[resource]);
  const bool scaled = minimums > static_cast<Product>(all);
  std::int64_t rest = all;
  competitors_.clear();
  shared_.clear();
  for (const Id id : parent.children) {
    Node& child = nodes_[id];
    const std::int64_t wanted = child.limited[resource];
    std::int64_t min = child.group.min[resource];
    if (scaled) {
      min = static_cast<std::int64_t>(static_cast<Product>(all) * static_cast<std::uint64_t>(min) / minimums);
    }
    // A group that does not lend requests at least its minimum.
    const std::int64_t runtime = std::min(wanted, min);
    shared_.push_back(runtime);
    rest -= runtime;
    if (wanted > min) competitors_.push_back({.node = &child, .runtime = runtime});
  }
  // What they get, in the order of the children.
  const std::size_t all_competitors = competitors_.size();
  ShareRest(rest, resource);
  std::size_t next = 0;
  for (std::size_t i = 0; i < parent.children.size(); ++i) {
    const Id id = parent.children[i];
    if (next < all_competitors && competitors_[next].node == &nodes_[id])
      shared_[i] = competitors_[next++].runtime;
    SetRuntime(id, resource, shared_[i]);
  }
}

// Each round ends with at least one limited request reached, or without a rest.
void QuotaTree::ShareRest(std::int64_t rest, std::size_t resource) {
  order_.resize(competitors_.size());
  std::iota(order_.begin(), order_.end(), 0);
  while (rest > 0) {
    Product weights = 0;
    for (const std::uint32_t i : order_)
      weights += static_cast<std::uint64_t>(competitors_[i].node->group.weight[resource]);
    if (weights == 0) return;
    std::int64_t units = rest;
    for (const std::uint32_t i : order_) {
      Competitor& one = competitors_[i];
      const Product part =
          static_cast<Product>(rest) * static_cast<std::uint64_t>(one.node->group.weight[resource]);
      one.share = static_cast<std::int64_t>(part / weights);
      one.remainder = part % weights;
      units -= one.share;
    }
    RoundUp(units);
    rest = 0;
    std::erase_if(order_, [&](std::uint32_t i) {
      Competitor& one = competitors_[i];
      const std::int64_t wanted = one.node->limited[resource];
      if (one.share < wanted - one.runtime) {
        one.runtime += one.share;
        return false;
      }
      rest += one.share - (wanted - one.runtime);
      one.runtime = wanted;
      return true;
    });
  }
}

// There are fewer units than competitors with a remainder.
void QuotaTree::RoundUp(std::int64_t units) {
  if (units == 0) return;
  const auto before = [this](std::uint32_t a, std::uint32_t b) {
    const Product x = competitors_[a].remainder, y = competitors_[b].remainder;
    return x != y ? x > y : a < b;
  };
  const auto end = order_.begin() + units;
  std::nth_element(order_.begin(), end - 1, order_.end(), before);
  for (auto i = order_.begin(); i != end; ++i) ++competitors_[*i].share;
}

void QuotaTree::SetRuntime(Id id, std::size_t resource, std::int64_t runtime) {
  Node& node = nodes_[id];
  if (std::exchange(node.runtime[resource], runtime) == runtime) return;
  if (!node.children.empty()) node.stale |= BitOf(resource);
  changed_.push_back({id, resource, runtime});
}

}  // namespace berth::plugins
