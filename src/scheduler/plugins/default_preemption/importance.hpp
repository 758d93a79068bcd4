// Which pods of a node are worth how much: the order in which preemption spares them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/cluster/node_table.hpp"

namespace berth::plugins {

// Follows the pods of all rows; what an overlay imagines does not count. Of a row that nobody has asked about
// only the lowest priority is known, so that pods cost nothing where nobody preempts; from the first question
// on, which must not come under an overlay, its pods are listed. They are sorted when somebody asks, and stay
// sorted until one comes. One thread: the scheduler loop's.
class Importance final : public cluster::PodObserver {
 public:
  struct Entry {
    std::int32_t priority = 0;
    std::int64_t started = 0;  // Unix seconds; what has not started yet counts as younger than all others
    cluster::PlacedPod* pod = nullptr;
  };

  static Entry EntryOf(cluster::PlacedPod& pod);

  explicit Importance(cluster::NodeTable& nodes);
  ~Importance() override;
  Importance(const Importance&) = delete;
  Importance& operator=(const Importance&) = delete;

  bool AnyBelow(cluster::Row row, std::int32_t priority);
  // The row's pods of lower priority: higher priority first, of equals the one that started first, of those
  // the first by "namespace/name". Valid until a pod comes or goes.
  std::span<const Entry> Below(cluster::Row row, std::int32_t priority);

  void PodAppears(cluster::Row row, const cluster::PlacedPod& pod, bool imagined) override;
  void PodLeaves(cluster::Row row, const cluster::PlacedPod& pod, bool imagined) override;

 private:
  struct RowPods {
    std::vector<Entry> entries;
    std::int64_t lowest = kNobody;  // priority
    bool lowest_left = false;       // who had it is gone: the others may be worth more
    bool listed = false;
    bool sorted = true;
  };
  static constexpr std::int64_t kNobody = INT64_MAX;
  void Add(cluster::Row row, cluster::PlacedPod& pod);
  void List(cluster::Row row);
  static void FindLowest(RowPods& pods);

  cluster::NodeTable& nodes_;
  std::vector<RowPods> rows_;
};

}  // namespace berth::plugins
