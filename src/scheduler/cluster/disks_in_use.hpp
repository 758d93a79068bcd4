// Nodes on which a disk is in use that pods reference directly, without a claim (GCE PD, EBS, iSCSI, RBD).
#pragma once

#include <string>
#include <vector>

#include "base/row_set.hpp"
#include "base/text_map.hpp"
#include "kubernetes/api/objects.hpp"
#include "scheduler/cluster/row_counts.hpp"

namespace berth::cluster {

// Whether the volume is a disk of one of these kinds.
bool IsExclusiveDisk(const api::Volume& volume);

// Counts uses per row; volumes of other kinds are ignored. Scheduler loop only.
class DisksInUse {
 public:
  void Add(std::uint32_t row, const api::Volume& volume);
  void Remove(std::uint32_t row, const api::Volume& volume);
  // Adds the rows on which a pod with this volume would conflict.
  void AddConflicts(const api::Volume& wanted, RowSet& out) const;
  std::size_t size() const { return disks_.size(); }

 private:
  struct Disk {
    RowCounts users;
    RowCounts writers;
  };
  TextMap<Disk> disks_;
};

}  // namespace berth::cluster
