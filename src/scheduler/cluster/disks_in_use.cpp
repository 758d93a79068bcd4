#include "scheduler/cluster/disks_in_use.hpp"

#include <algorithm>

namespace berth::cluster {
namespace {

using Source = api::Volume::Source;

// Two disks are the same if they have a name in common. An RBD image has one name per monitor, because one
// common monitor suffices.
std::vector<std::string> NamesOf(const api::Volume& volume) {
  const std::string name = static_cast<char>(volume.source) + volume.id;
  if (volume.source != Source::kRbd) return {name};
  std::vector<std::string> names;
  for (const std::string& monitor : volume.rbd->monitors)
    names.push_back(name + '\n' + volume.rbd->pool + '\n' + monitor);
  return names;
}

// An EBS volume is always exclusive; the other kinds can be shared by readers.
bool Shareable(const api::Volume& volume) {
  return volume.read_only && volume.source != Source::kAwsElasticBlockStore;
}

}  // namespace

bool IsExclusiveDisk(const api::Volume& volume) {
  return volume.source == Source::kGcePersistentDisk || volume.source == Source::kAwsElasticBlockStore ||
         volume.source == Source::kIscsi || volume.source == Source::kRbd;
}

void DisksInUse::Add(std::uint32_t row, const api::Volume& volume) {
  if (!IsExclusiveDisk(volume)) return;
  for (const std::string& name : NamesOf(volume)) {
    Disk& disk = disks_[name];
    disk.users.Add(row, 1);
    if (!Shareable(volume)) disk.writers.Add(row, 1);
  }
}

void DisksInUse::Remove(std::uint32_t row, const api::Volume& volume) {
  if (!IsExclusiveDisk(volume)) return;
  for (const std::string& name : NamesOf(volume)) {
    const auto disk = disks_.find(name);
    disk->second.users.Add(row, -1);
    if (!Shareable(volume)) disk->second.writers.Add(row, -1);
    if (disk->second.users.empty()) disks_.erase(disk);
  }
}

void DisksInUse::AddConflicts(const api::Volume& wanted, RowSet& out) const {
  if (!IsExclusiveDisk(wanted)) return;
  for (const std::string& name : NamesOf(wanted)) {
    const auto disk = disks_.find(name);
    if (disk == disks_.end()) continue;
    const RowCounts& hostile = Shareable(wanted) ? disk->second.writers : disk->second.users;
    hostile.ForEach([&](std::uint32_t row, RowCounts::Count) { out.Add(row); });
  }
}

}  // namespace berth::cluster
