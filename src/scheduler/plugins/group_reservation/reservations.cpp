#include "scheduler/plugins/group_reservation/reservations.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace berth::plugins {

const ReservedNodes* Reservations::Find(std::string_view key) const {
  const auto found = std::ranges::find(entries_, key, &ReservedNodes::key);
  return found == entries_.end() ? nullptr : &*found;
}

void Reservations::Add(ReservedNodes reservation) {
  BERTH_CHECK(Find(reservation.key) == nullptr, reservation.key);
  entries_.push_back(std::move(reservation));
  changed_ = true;
}

void Reservations::AddRowsClosedTo(std::int32_t priority, std::string_view own, RowSet& out) {
  if (changed_ || seen_ != nodes_.node_changes()) RefreshRows();
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (priority <= entries_[i].priority && entries_[i].key != own) out |= rows_[i];
  }
}

// A row may belong to another node after a change.
void Reservations::RefreshRows() {
  rows_.resize(entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    rows_[i].Resize(nodes_.rows());
    rows_[i].Clear();
    for (const cluster::NodeNameId name : entries_[i].nodes) {
      if (const cluster::Row row = nodes_.Find(name); row != cluster::kNoRow) rows_[i].Add(row);
    }
  }
  seen_ = nodes_.node_changes();
  changed_ = false;
}

}  // namespace berth::plugins
