#include "scheduler/plugins/group_reservation/reservations.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace berth::plugins {

const ReservedNodes* Reservations::Find(std::string_view key) const {
  const auto found = std::ranges::find(entries_, key, &ReservedNodes::key);
  return found == entries_.end() ? nullptr : &*found;
}

std::vector<std::string> Reservations::GroupsBefore(std::int32_t priority) const {
  std::vector<std::string> groups;
  for (const ReservedNodes& entry : entries_) {
    if (priority <= entry.priority) groups.push_back(entry.key);
  }
  return groups;
}

void Reservations::Add(ReservedNodes reservation) {
  BERTH_CHECK(Find(reservation.key) == nullptr, reservation.key);
  entries_.push_back(std::move(reservation));
  ++version_;
}

void Reservations::AddRowsClosedTo(std::int32_t priority, std::string_view own,
                                   const cluster::NodeTable& nodes, Rows& rows, RowSet& out) const {
  if (rows.version != version_ || rows.node_changes != nodes.node_changes()) Refresh(nodes, rows);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (priority <= entries_[i].priority && entries_[i].key != own) out |= rows.of_entries[i];
  }
}

// A row may belong to another node after a change.
void Reservations::Refresh(const cluster::NodeTable& nodes, Rows& rows) const {
  rows.of_entries.resize(entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    RowSet& reserved = rows.of_entries[i];
    reserved.Resize(nodes.rows());
    reserved.Clear();
    for (const cluster::NodeNameId name : entries_[i].nodes) {
      if (const cluster::Row row = nodes.Find(name); row != cluster::kNoRow) reserved.Add(row);
    }
  }
  rows.version = version_;
  rows.node_changes = nodes.node_changes();
}

}  // namespace berth::plugins
