// Nodes that are reserved for pod groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/row_set.hpp"
#include "scheduler/cluster/node_table.hpp"

namespace berth::plugins {

// The nodes of one group.
struct ReservedNodes {
  std::string key;  // of the group, "namespace/name"
  std::int32_t priority = 0;
  MonoTime ends;  // at the latest
  std::vector<cluster::NodeNameId> nodes;
};

// The reservations in force: a few. Nodes may be added and removed meanwhile. Scheduler loop only.
class Reservations {
 public:
  // The rows of the reserved nodes as of the last use. A buffer of the plugin.
  struct Rows {
    std::vector<RowSet> of_entries;
    std::uint64_t node_changes = 0;  // NodeTable::node_changes()
    std::uint64_t version = 0;       // Reservations::version(); 0: not used yet
  };

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  // Changes whenever a reservation begins or ends; never 0.
  std::uint64_t version() const { return version_; }
  const ReservedNodes* Find(std::string_view key) const;
  // The groups whose reservations close nodes to pods of this priority, in the order of their beginning.
  std::vector<std::string> GroupsBefore(std::int32_t priority) const;
  // There must be none for this group.
  void Add(ReservedNodes reservation);
  // Removes those for which ended(const ReservedNodes&) returns true. Returns whether there were any.
  template <class Ended>
  bool RemoveIf(Ended&& ended) {
    if (std::erase_if(entries_, ended) == 0) return false;
    ++version_;
    return true;
  }

  // Adds to `out` the rows of the nodes that are reserved for groups of at least this priority, other than
  // the group `own` (empty: the pod has none).
  void AddRowsClosedTo(std::int32_t priority, std::string_view own, const cluster::NodeTable& nodes,
                       Rows& rows, RowSet& out) const;

  // The content as a value, for recordings.
  struct Saved {
    struct OfGroup {
      std::string key;
      std::int32_t priority = 0;
      MonoTime ends;
      std::vector<std::string> nodes;  // names
      static void VisitFields(auto& self, auto&& visit) {
        visit("key", self.key);
        visit("priority", self.priority);
        visit("ends", self.ends);
        visit("nodes", self.nodes);
      }
    };
    std::vector<OfGroup> groups;  // in the order of their beginning
    std::uint64_t version = 0;
    static void VisitFields(auto& self, auto&& visit) {
      visit("groups", self.groups);
      visit("version", self.version);
    }
  };
  // Forgets nodes that were deleted meanwhile, whose ids have no names.
  Saved Save(const cluster::NodeTable& nodes);
  // Fails if a node does not exist, or a reservation has no end.
  Expected<void> Restore(const Saved& saved, const cluster::NodeTable& nodes);

 private:
  void Refresh(const cluster::NodeTable& nodes, Rows& rows) const;

  std::vector<ReservedNodes> entries_;
  std::uint64_t version_ = 1;  // changes with entries_
};

}  // namespace berth::plugins
