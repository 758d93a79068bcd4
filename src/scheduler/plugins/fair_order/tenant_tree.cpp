#include "scheduler/plugins/fair_order/tenant_tree.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"

namespace berth::plugins {

bool TenantTree::Node::Earlier::operator()(const Node* a, const Node* b) const {
  if (a->priority_ != b->priority_) return a->priority_ > b->priority_;
  if (a->rank_ != b->rank_) return a->rank_ < b->rank_;
  if (a->since_ != b->since_) return a->since_ < b->since_;
  return a->number_ < b->number_;
}

TenantTree::TenantTree(TenantTreeOptions options, std::size_t resources)
    : options_(options), totals_(resources) {
  root_.used_.resize(resources);
}

// --- nodes ---

TenantTree::Node* TenantTree::Find(std::span<const Step> path) {
  Node* node = &root_;
  for (const Step& step : path) {
    const auto child = node->children_.find(step.name);
    if (child == node->children_.end()) return nullptr;
    node = child->second.get();
  }
  return node;
}

TenantTree::Node& TenantTree::Add(std::span<const Step> path) {
  Node* node = &root_;
  for (const Step& step : path) {
    auto child = node->children_.find(step.name);
    if (child == node->children_.end()) {
      auto created = std::make_unique<Node>();
      created->name_ = step.name;
      created->parent_ = node;
      created->number_ = next_number_++;
      created->weight_ = step.weight;
      created->used_.resize(totals_.size());
      child = node->children_.emplace(std::string(step.name), std::move(created)).first;
    }
    node = child->second.get();
  }
  return *node;
}

void TenantTree::Remove(Node& leaf) {
  BERTH_CHECK(leaf.children_.empty() && !leaf.waiting_ && leaf.unsettled_ == 0, leaf.name_, leaf.waiting_,
              leaf.unsettled_);
  for (Node* node = &leaf; node->parent_ != nullptr && node->children_.empty();) {
    Node* const parent = node->parent_;
    const std::string name = node->name_;
    parent->children_.erase(name);
    node = parent;
  }
}

// --- changes ---

// Calls change(node) for the leaf and the nodes above it, each outside of the sorted set that contains it.
template <class Change>
void TenantTree::Apply(Node& leaf, Change&& change) {
  for (Node* node = &leaf; node != nullptr; node = node->parent_) {
    Node* const parent = node->parent_;
    if (parent != nullptr && node->waiting_) parent->first_.erase(node);
    change(*node);
    if (node != &leaf) {
      node->waiting_ = !node->first_.empty();
      if (node->waiting_) node->priority_ = (*node->first_.begin())->priority_;
    }
    Rank(*node);
    if (parent != nullptr && node->waiting_) parent->first_.insert(node);
  }
}

void TenantTree::SetTotals(std::vector<std::int64_t> totals) {
  totals_ = std::move(totals);
  RankAll(root_);
}

void TenantTree::RankAll(Node& node) {
  node.first_.clear();
  for (const auto& [name, child] : node.children_) {
    RankAll(*child);
    if (child->waiting_) node.first_.insert(child.get());
  }
  Rank(node);
}

void TenantTree::Use(Node& leaf, std::span<const std::int64_t> amounts) {
  Apply(leaf, [&](Node& node) {
    // Unsigned: many pods with the largest amounts may wrap the sum, and it is right again when they are
    // gone.
    for (std::size_t i = 0; i < node.used_.size(); ++i) {
      node.used_[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(node.used_[i]) +
                                                static_cast<std::uint64_t>(amounts[i]));
    }
  });
}

void TenantTree::Wait(Node& leaf, std::int32_t priority, MonoTime now) {
  Apply(leaf, [&](Node& node) {
    // A node above the leaf waits since its first leaf does.
    if (!node.waiting_) node.since_ = now;
    if (&node != &leaf) return;
    node.waiting_ = true;
    node.priority_ = options_.priority_first ? priority : 0;
  });
}

void TenantTree::StopWaiting(Node& leaf) {
  Apply(leaf, [&](Node& node) {
    if (&node == &leaf) node.waiting_ = false;
  });
}

void TenantTree::Attempt(Node& leaf, MonoTime now) {
  Apply(leaf, [&](Node& node) {
    ++node.unsettled_;
    node.since_ = now;
  });
}

void TenantTree::Settle(Node& leaf, std::size_t attempts) {
  attempts = std::min(attempts, leaf.unsettled_);
  if (attempts == 0) return;
  Apply(leaf, [&](Node& node) { node.unsettled_ -= attempts; });
}

void TenantTree::Unsettle(Node& leaf) {
  Apply(leaf, [](Node& node) { ++node.unsettled_; });
}

void TenantTree::Rank(Node& node) const {
  node.share_ = 0;
  node.dominant_ = -1;
  for (std::size_t i = 0; i < totals_.size(); ++i) {
    if (totals_[i] <= 0 || node.used_[i] <= 0) continue;
    const double share = static_cast<double>(node.used_[i]) / static_cast<double>(totals_[i]);
    if (share <= node.share_) continue;
    node.share_ = share;
    node.dominant_ = static_cast<int>(i);
  }
  node.rank_ = (node.share_ + static_cast<double>(node.unsettled_) * kUnsettledShare) / node.weight_;
  if (options_.ageing.count() == 0) return;
  node.rank_ += static_cast<double>(node.since_.time_since_epoch().count()) /
                static_cast<double>(options_.ageing.count());
}

// --- recordings ---

TenantTree::Saved TenantTree::SaveNode(const Node& node, std::uint64_t number) {
  Saved saved{.name = node.name_,
              .weight = node.weight_,
              .number = number,
              .since = node.since_,
              .unsettled = node.children_.empty() ? static_cast<std::uint32_t>(node.unsettled_) : 0,
              .children = {}};
  for (const auto& [name, child] : node.children_) saved.children.push_back(SaveNode(*child, child->number_));
  std::ranges::sort(saved.children, {}, &Saved::number);
  return saved;
}

Expected<void> TenantTree::Restore(const Saved& root) {
  BERTH_RETURN_IF_ERROR(RestoreNode(root, root_));
  next_number_ = root.number;
  RankAll(root_);
  return {};
}

// A node above leaves has their unsettled attempts.
Expected<void> TenantTree::RestoreNode(const Saved& saved, Node& node) {
  if (saved.children.size() != node.children_.size())
    return Invalid(fmt::format("tenant \"{}\": expected {} below it", saved.name, node.children_.size()));
  node.number_ = saved.number;
  node.since_ = saved.since;
  node.unsettled_ = saved.unsettled;
  for (const Saved& child : saved.children) {
    const auto found = node.children_.find(child.name);
    if (found == node.children_.end())
      return Invalid(fmt::format("tenant \"{}\": it has no pods", child.name));
    BERTH_RETURN_IF_ERROR(RestoreNode(child, *found->second));
    node.unsettled_ += found->second->unsettled_;
  }
  return {};
}

// --- the order ---

void TenantTree::ForEachWaiting(const std::function<bool(Node&)>& visit) { Visit(root_, visit); }

bool TenantTree::Visit(Node& node, const std::function<bool(Node&)>& visit) {
  if (node.children_.empty()) return !node.waiting_ || visit(node);
  return std::ranges::all_of(node.first_, [&](Node* child) { return Visit(*child, visit); });
}

}  // namespace berth::plugins
