// Runtime quotas of a tree of quota groups: how much each group may use now. Koordinator v1.8 (Multi
// Hierarchy Elastic Quota Management).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace berth::plugins {

// For each resource, independently of the others:
//
//   request of a group   what its pods request, plus the limited requests of its children; at least its
//                        minimum if it does not lend
//   limited request      the request, at most the maximum
//   runtime of a group   its part of the parent's runtime; the children of the root share the total
//
// The children of a group share its runtime R as follows:
//   1. If the sum of their minimums exceeds R, each minimum is reduced to R * minimum / sum, rounded down.
//   2. A child receives its minimum, or its limited request if that is less and it lends.
//   3. What is left is shared by the children whose limited request is not reached, in proportion to their
//      weights. What exceeds a limited request is shared again in the same way. Rounding follows the
//      largest-remainder method: the amounts are rounded down, and the remaining units go to the largest
//      remainders; of equal ones, to the child that was added first.
//
// So the runtimes of siblings add up to at most their parent's runtime, and none exceeds its maximum.
// Amounts are integers and results are exact. A change marks the groups whose children must share again, and
// Runtime updates only those above the group: it takes time proportional to the siblings on the path for each
// changed resource, and in the worst case to the square of their number. Not thread-safe.
class QuotaTree {
 public:
  using Id = std::uint32_t;
  static constexpr Id kRoot = 0;
  static constexpr std::size_t kMostResources = 64;

  // Amounts by resource, each from 0 on. A resource that does not concern the group has the amount 0
  // everywhere.
  struct Group {
    std::vector<std::int64_t> min;  // at most `max`
    std::vector<std::int64_t> max;
    std::vector<std::int64_t> weight;
    bool lends = true;  // children of the same parent may use the part of `min` that is not requested
  };

  // `resources`: the number of amounts, at most kMostResources. The total is 0.
  explicit QuotaTree(std::size_t resources);

  // The order of siblings decides between equal remainders.
  Id Add(Id parent, Group group);
  // Negative totals count as 0.
  void SetTotal(std::size_t resource, std::int64_t total);
  // What pods of this group itself request more; less if `amount` is negative. Sums must not become negative.
  void AddRequest(Id group, std::size_t resource, std::int64_t amount);

  // By resource; valid until the next call of this object. Of the root, the total.
  std::span<const std::int64_t> Runtime(Id group);
  // The request, at most the maximum. Not of the root.
  std::int64_t LimitedRequest(Id group, std::size_t resource) const;

  std::size_t size() const { return nodes_.size(); }  // with the root
  Id parent(Id group) const { return nodes_[group].parent; }
  const Group& group(Id group) const { return nodes_[group].group; }
  // Calls visit(Id, std::size_t resource, std::int64_t runtime) for the runtimes that Runtime has changed
  // since the last call, oldest first.
  template <class Visit>
  void TakeChanged(Visit&& visit) {
    for (const Changed& one : changed_) visit(one.group, one.resource, one.runtime);
    changed_.clear();
  }

 private:
  // Sums over any number of pods.
  __extension__ using Sum = __int128;
  __extension__ using Product = unsigned __int128;

  struct Node {
    Id parent = kRoot;
    Group group;
    std::vector<Id> children;
    std::vector<Sum> requested;         // by own pods and children
    std::vector<std::int64_t> limited;  // limited request
    std::vector<std::int64_t> runtime;  // of the root: the total
    std::uint64_t stale = 0;            // the resources that the children must share again, one bit each
  };
  // A child whose limited request is not reached yet.
  struct Competitor {
    Node* node = nullptr;
    std::int64_t runtime = 0;
    std::int64_t share = 0;  // of this round
    Product remainder = 0;
  };
  std::int64_t Limit(const Node& node, std::size_t resource) const;
  void Propagate(Id group, std::size_t resource);
  void ShareAmongChildren(Node& parent, std::size_t resource);
  void ShareRest(std::int64_t rest, std::size_t resource);
  void RoundUp(std::int64_t units);
  void SetRuntime(Id id, std::size_t resource, std::int64_t runtime);

  const std::size_t resources_;
  std::vector<Node> nodes_;
  struct Changed {
    Id group;
    std::size_t resource;
    std::int64_t runtime;
  };
  std::vector<Changed> changed_;
  // Buffers of one call.
  std::vector<Id> path_;
  std::vector<Competitor> competitors_;
  std::vector<std::int64_t> shared_;  // runtimes by child
  std::vector<std::uint32_t> order_;
};

}  // namespace berth::plugins
