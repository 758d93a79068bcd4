// Host ports in use, by row.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/row_group.hpp"
#include "base/row_set.hpp"
#include "scheduler/cluster/pod_info.hpp"
#include "scheduler/cluster/row_counts.hpp"

namespace berth::cluster {

// Per row a set: adding a port twice has no effect. Memory and the cost of a call do not depend on the number
// of addresses at which a port is in use. Scheduler loop only.
class HostPortsInUse {
 public:
  // Whether the port was not in use on the row.
  bool Add(std::uint32_t row, HostPort port);
  // Whether the port was in use on the row.
  bool Remove(std::uint32_t row, HostPort port);
  // Adds the rows on which a pod with this host port would conflict: the port is in use there at this address
  // or at any, or this is any address.
  void AddConflicts(HostPort wanted, RowSet& out) const;

 private:
  boost::unordered_flat_map<HostPort, RowGroup> rows_;  // rows on which the port is in use at the address
  boost::unordered_flat_map<PortId, RowCounts> uses_;   // number of addresses at which it is in use on a row
};

}  // namespace berth::cluster
