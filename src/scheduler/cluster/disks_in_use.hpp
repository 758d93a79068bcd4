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
  bool empty() const { return disks_.empty() && images_.empty(); }

 private:
  struct Disk {
    void Count(std::uint32_t row, const api::Volume& volume, int amount);
    void AddConflicts(const api::Volume& wanted, RowSet& out) const;

    RowCounts users;
    RowCounts writers;
  };
  TextMap<Disk> disks_;
  // RBD images by pool and name. One common monitor makes two of them the same disk, so that an image has one
  // disk for each monitor; the name, which may be long, is stored once.
  TextMap<TextMap<Disk>> images_;
};

}  // namespace berth::cluster
