// The pods of each node by importance: the order in which preemption spares them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/cluster/node_table.hpp"
#include "scheduler/cluster/pod_observer.hpp"

namespace berth::plugins {

// Follows the pods of all rows and withdrawals, not overlays. A row stores only its lowest priority until its
// pods are first requested, so that the cost is low without preemption; pods that exist at the start are
// first read on request. The first request for a row must not occur during an overlay. Entries are sorted on
// request and stay sorted until a pod is added or started. Scheduler loop only.
class Importance final : public cluster::PodObserver {
 public:
  struct Entry {
    std::int32_t priority = 0;
    std::int64_t started = 0;  // Unix seconds; pods that have not started sort after all others
    cluster::PlacedPod* pod = nullptr;
  };

  static Entry EntryOf(cluster::PlacedPod& pod);
  // By descending priority, then ascending start time, then "namespace/name".
  static bool IsMoreImportant(const Entry& a, const Entry& b);
  // By namespace and name.
  static bool FirstByKey(const cluster::PlacedPod& a, const cluster::PlacedPod& b);

  explicit Importance(cluster::NodeTable& nodes);
  ~Importance() override;
  Importance(const Importance&) = delete;
  Importance& operator=(const Importance&) = delete;

  bool AnyBelow(cluster::Row row, std::int32_t priority);
  // The row's pods of lower priority by descending importance (IsMoreImportant). Valid until a pod is added,
  // removed or started.
  std::span<const Entry> Below(cluster::Row row, std::int32_t priority);

  void OnPodAdded(cluster::Row row, const cluster::PlacedPod& pod) override;
  void OnPodRemoved(cluster::Row row, const cluster::PlacedPod& pod) override;
  void OnPodStarted(cluster::Row row, const cluster::PlacedPod& pod) override;
  void OnPodsFound(cluster::Row row, std::span<cluster::PlacedPod* const> pods) override;

 private:
  struct RowPods {
    std::vector<Entry> entries;
    std::int64_t lowest = kNoPods;  // lowest priority
    bool may_be_higher = false;     // `lowest` is a lower bound: FindLowest
    bool listed = false;
    bool sorted = true;
  };
  static constexpr std::int64_t kNoPods = INT64_MAX;
  void Add(cluster::Row row, cluster::PlacedPod& pod);
  void List(cluster::Row row);
  void FindLowest(cluster::Row row);

  cluster::NodeTable& nodes_;
  std::vector<RowPods> rows_;
};

}  // namespace berth::plugins
