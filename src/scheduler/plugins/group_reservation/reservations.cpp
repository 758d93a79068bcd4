#include "scheduler/plugins/group_reservation/reservations.hpp"

#include <fmt/format.h>

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

// --- recordings ---

Reservations::Saved Reservations::Save(const cluster::NodeTable& nodes) {
  Saved saved{.groups = {}, .version = version_};
  for (ReservedNodes& entry : entries_) {
    std::erase_if(entry.nodes,
                  [&](const cluster::NodeNameId name) { return nodes.Find(name) == cluster::kNoRow; });
    Saved::OfGroup& to = saved.groups.emplace_back(Saved::OfGroup{entry.key, entry.priority, entry.ends, {}});
    for (const cluster::NodeNameId name : entry.nodes) to.nodes.push_back(nodes.name(nodes.Find(name)));
  }
  return saved;
}

Expected<void> Reservations::Restore(const Saved& saved, const cluster::NodeTable& nodes) {
  entries_.clear();
  for (const Saved::OfGroup& from : saved.groups) {
    if (Find(from.key) != nullptr) return Invalid(fmt::format("group {}: it has two reservations", from.key));
    // Earlier releases recorded a time of day.
    if (from.ends == MonoTime{})
      return Invalid(fmt::format("group {}: its reservation has no end", from.key));
    ReservedNodes& entry = entries_.emplace_back(ReservedNodes{from.key, from.priority, from.ends, {}});
    for (const std::string& name : from.nodes) {
      const cluster::Row row = nodes.Find(name);
      if (row == cluster::kNoRow) return Invalid(fmt::format("node {}: it does not exist", name));
      entry.nodes.push_back(nodes.name_id(row));
    }
  }
  version_ = std::max<std::uint64_t>(saved.version, 1);
  return {};
}

}  // namespace berth::plugins
