// Which nodes use a disk that pods name themselves, without claim and volume (GCE PD, EBS, iSCSI, RBD).
#pragma once

#include <boost/unordered_map.hpp>
#include <string>
#include <vector>

#include "kubernetes/api/objects.hpp"
#include "base/row_set.hpp"
#include "scheduler/cluster/row_counts.hpp"

namespace berth::cluster {

// Is it one of those disks?
bool IsExclusiveDisk(const api::Volume& volume);
// May not both be used on one node.
bool Collide(const api::Volume& a, const api::Volume& b);

// Counts uses; volumes that are no such disks are ignored. One thread.
class DisksInUse {
 public:
  void Add(std::uint32_t row, const api::Volume& volume);
  void Remove(std::uint32_t row, const api::Volume& volume);
  // Adds the rows where a pod that wants this volume would collide.
  void AddConflicts(const api::Volume& wanted, RowSet& out) const;
  std::size_t size() const { return disks_.size(); }

 private:
  struct Disk {
    RowCounts users;
    RowCounts writers;
  };
  boost::unordered_map<std::string, Disk> disks_;
};

}  // namespace berth::cluster
