// Nodes that are reserved for pod groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/row_set.hpp"
#include "scheduler/cluster/node_table.hpp"

namespace berth::plugins {

// The nodes of one group.
struct ReservedNodes {
  std::string key;  // of the group, "namespace/name"
  std::int32_t priority = 0;
  WallTime until;  // it ends then at the latest
  std::vector<cluster::NodeNameId> nodes;
};

// The reservations in force: a few. Nodes may be added and removed meanwhile. Scheduler loop only.
class Reservations {
 public:
  // `nodes` must outlive this object.
  explicit Reservations(const cluster::NodeTable& nodes) : nodes_(nodes) {}

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  const ReservedNodes* Find(std::string_view key) const;
  // There must be none for this group.
  void Add(ReservedNodes reservation);
  // Removes those for which ended(const ReservedNodes&) returns true. Returns whether there were any.
  template <class Ended>
  bool RemoveIf(Ended&& ended) {
    if (std::erase_if(entries_, ended) == 0) return false;
    changed_ = true;
    return true;
  }

  // Adds to `out` the rows of the nodes that are reserved for groups of at least this priority, other than
  // the group `own` (empty: the pod has none).
  void AddRowsClosedTo(std::int32_t priority, std::string_view own, RowSet& out);

 private:
  void RefreshRows();

  const cluster::NodeTable& nodes_;
  std::vector<ReservedNodes> entries_;
  std::vector<RowSet> rows_;  // of each entry; current if `seen_` is
  std::uint64_t seen_ = 0;    // NodeTable::node_changes()
  bool changed_ = false;
};

}  // namespace berth::plugins
