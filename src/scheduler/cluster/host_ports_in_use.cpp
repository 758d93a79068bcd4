#include "scheduler/cluster/host_ports_in_use.hpp"

#include "base/check.hpp"

namespace berth::cluster {

bool HostPortsInUse::Add(std::uint32_t row, HostPort port) {
  RowGroup& rows = rows_[port];
  if (rows.Has(row)) return false;
  rows.Add(row);
  uses_[port.port].Add(row, 1);
  return true;
}

bool HostPortsInUse::Remove(std::uint32_t row, HostPort port) {
  const auto found = rows_.find(port);
  if (found == rows_.end() || !found->second.Has(row)) return false;
  found->second.Remove(row);
  if (found->second.Empty()) rows_.erase(found);
  const auto use = uses_.find(port.port);
  BERTH_CHECK(use != uses_.end() && use->second.At(row) > 0, row, port.port);
  use->second.Add(row, -1);
  if (use->second.empty()) uses_.erase(use);
  return true;
}

void HostPortsInUse::AddConflicts(HostPort wanted, RowSet& out) const {
  const auto use = uses_.find(wanted.port);
  if (use == uses_.end()) return;
  if (wanted.address == kAnyAddress) {
    use->second.ForEach([&](std::uint32_t row, RowCounts::Count) { out.Add(row); });
    return;
  }
  for (const AddressId address : {kAnyAddress, wanted.address}) {
    if (const auto rows = rows_.find({wanted.port, address}); rows != rows_.end()) rows->second.AddTo(out);
  }
}

}  // namespace berth::cluster
