// The order of tenants: weighted dominant-resource fairness over a tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/text_map.hpp"

namespace berth::plugins {

struct TenantTreeOptions {
  // Of waiting siblings, one with an entry of higher priority is first; else the priority has no influence.
  bool priority_first = false;
  // One that waits this much longer for an attempt is treated as if its share were lower by the whole cluster
  // times its weight; 0: off.
  Duration ageing{};
};

// Dominant-resource fairness (Ghodsi et al., NSDI 2011) at each level of a tree (the leaves are tenants; a
// node above them uses what its leaves use). Of two waiting siblings, the one with the lower rank is first:
//
//   (share + unsettled attempts / 16) / weight + waiting since / ageing
//
// The share is the largest part of the cluster that the node uses of any resource. An attempt is unsettled
// until a pod of the tenant is placed or Settle forgets it: a tenant whose pods do not fit uses nothing, and
// without this term it would be first for ever. The last term grows with time equally for all nodes that
// wait, so the order of two waiting nodes changes only when one of them changes. With weights of at least 1,
// a node waits at most `ageing` times the difference of the shares, plus one attempt of each sibling.
//
// A change of a tenant takes time proportional to the depth and to the logarithm of the numbers of waiting
// siblings. Not thread-safe.
class TenantTree {
 public:
  static constexpr double kUnsettledShare = 1.0 / 16;

  // One name of a path, with the weight that the node gets if it is new.
  struct Step {
    std::string_view name;
    double weight = 1;
  };

  class Node {
   public:
    double share() const { return share_; }
    double weight() const { return weight_; }
    int dominant() const { return dominant_; }  // index of the resource; -1: nothing is used
    std::size_t unsettled() const { return unsettled_; }
    MonoTime since() const { return since_; }
    bool waiting() const { return waiting_; }
    std::uint32_t id = 0;  // free for the owner of the tree

   private:
    friend class TenantTree;
    struct Earlier {
      bool operator()(const Node* a, const Node* b) const;
    };

    std::string name_;
    Node* parent_ = nullptr;
    std::uint64_t number_ = 0;  // in the order of creation
    double weight_ = 1;
    std::vector<std::int64_t> used_;
    std::size_t unsettled_ = 0;
    bool waiting_ = false;
    std::int32_t priority_ = 0;  // of the first entry
    MonoTime since_;             // of the last attempt, or since it waits if that is later
    double share_ = 0;
    int dominant_ = -1;
    double rank_ = 0;
    std::set<Node*, Earlier> first_;  // children that wait
    FlatTextMap<std::unique_ptr<Node>> children_;
  };

  // What does not follow from amounts and entries, as a value, for recordings: a node with all below it.
  struct Saved {
    std::string name;
    double weight = 1;
    std::uint64_t number = 0;
    MonoTime since;
    std::uint32_t unsettled = 0;  // of a leaf
    bool attempted = false;       // of a leaf; free for the owner of the tree
    std::vector<Saved> children;
    static void VisitFields(auto& self, auto&& visit) {
      visit("name", self.name);
      visit("weight", self.weight);
      visit("number", self.number);
      visit("since", self.since);
      visit("unsettled", self.unsettled);
      visit("attempted", self.attempted);
      visit("children", self.children);
    }
  };

  // `resources`: number of amounts.
  TenantTree(TenantTreeOptions options, std::size_t resources);

  // The leaf with this path, which is not empty; null if there is none. A path must not be the beginning of
  // another one.
  Node* Find(std::span<const Step> path);
  Node& Add(std::span<const Step> path);
  // Removes a leaf that does not wait and uses nothing, and the nodes above it without other leaves.
  void Remove(Node& leaf);
  bool empty() const { return root_.children_.empty(); }
  static bool IsLeaf(const Node& node) { return node.children_.empty(); }

  // What the cluster has of each resource; a resource with 0 does not count. Linear in the number of nodes.
  void SetTotals(std::vector<std::int64_t> totals);
  std::span<const std::int64_t> totals() const { return totals_; }
  // Adds amounts to what the leaf uses; they may be negative.
  void Use(Node& leaf, std::span<const std::int64_t> amounts);
  // Of the first entry of the leaf that waits.
  void Wait(Node& leaf, std::int32_t priority, MonoTime now);
  void StopWaiting(Node& leaf);
  // An attempt begins: it is unsettled.
  void Attempt(Node& leaf, MonoTime now);
  // Up to `attempts` of the leaf are no longer unsettled.
  void Settle(Node& leaf, std::size_t attempts);
  // An attempt that was settled is unsettled again; the leaf waits since the same time.
  void Unsettle(Node& leaf);

  // Calls visit(Node&) for the leaves that wait, in their order, until it returns false.
  void ForEachWaiting(const std::function<bool(Node&)>& visit);

  // The root, whose number is that of the next node. Children are in the order of their numbers.
  Saved Save() const { return SaveNode(root_, next_number_); }
  // Fails if the nodes are not the saved ones; then the tree must not be used.
  Expected<void> Restore(const Saved& root);

 private:
  static Saved SaveNode(const Node& node, std::uint64_t number);
  static Expected<void> RestoreNode(const Saved& saved, Node& node);
  template <class Change>
  void Apply(Node& leaf, Change&& change);
  void Rank(Node& node) const;
  void RankAll(Node& node);
  static bool Visit(Node& node, const std::function<bool(Node&)>& visit);

  const TenantTreeOptions options_;
  Node root_;
  std::vector<std::int64_t> totals_;
  std::uint64_t next_number_ = 0;
};

}  // namespace berth::plugins
