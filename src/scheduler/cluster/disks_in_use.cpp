#include "scheduler/cluster/disks_in_use.hpp"

#include <algorithm>

namespace berth::cluster {
namespace {

using Source = api::Volume::Source;

std::string NameOf(const api::Volume& volume) { return static_cast<char>(volume.source) + volume.id; }
std::string ImageOf(const api::Volume& volume) { return volume.id + '\n' + volume.rbd->pool; }

// An EBS volume is always exclusive; the other kinds can be shared by readers.
bool Shareable(const api::Volume& volume) {
  return volume.read_only && volume.source != Source::kAwsElasticBlockStore;
}

}  // namespace

bool IsExclusiveDisk(const api::Volume& volume) {
  return volume.source == Source::kGcePersistentDisk || volume.source == Source::kAwsElasticBlockStore ||
         volume.source == Source::kIscsi || volume.source == Source::kRbd;
}

void DisksInUse::Disk::Count(std::uint32_t row, const api::Volume& volume, int amount) {
  users.Add(row, amount);
  if (!Shareable(volume)) writers.Add(row, amount);
}

void DisksInUse::Disk::AddConflicts(const api::Volume& wanted, RowSet& out) const {
  const RowCounts& hostile = Shareable(wanted) ? writers : users;
  hostile.ForEach([&](std::uint32_t row, RowCounts::Count) { out.Add(row); });
}

void DisksInUse::Add(std::uint32_t row, const api::Volume& volume) {
  if (!IsExclusiveDisk(volume)) return;
  if (volume.source != Source::kRbd) return disks_[NameOf(volume)].Count(row, volume, 1);
  if (volume.rbd->monitors.empty()) return;
  TextMap<Disk>& by_monitor = images_[ImageOf(volume)];
  for (const std::string& monitor : volume.rbd->monitors) by_monitor[monitor].Count(row, volume, 1);
}

void DisksInUse::Remove(std::uint32_t row, const api::Volume& volume) {
  if (!IsExclusiveDisk(volume)) return;
  const auto remove = [&](TextMap<Disk>& disks, const std::string& name) {
    const auto disk = disks.find(name);
    disk->second.Count(row, volume, -1);
    if (disk->second.users.empty()) disks.erase(disk);
  };
  if (volume.source != Source::kRbd) return remove(disks_, NameOf(volume));
  if (volume.rbd->monitors.empty()) return;
  const auto image = images_.find(ImageOf(volume));
  for (const std::string& monitor : volume.rbd->monitors) remove(image->second, monitor);
  if (image->second.empty()) images_.erase(image);
}

void DisksInUse::AddConflicts(const api::Volume& wanted, RowSet& out) const {
  if (!IsExclusiveDisk(wanted)) return;
  const auto add = [&](const TextMap<Disk>& disks, const std::string& name) {
    if (const auto disk = disks.find(name); disk != disks.end()) disk->second.AddConflicts(wanted, out);
  };
  if (wanted.source != Source::kRbd) return add(disks_, NameOf(wanted));
  const auto image = images_.find(ImageOf(wanted));
  if (image == images_.end()) return;
  for (const std::string& monitor : wanted.rbd->monitors) add(image->second, monitor);
}

}  // namespace berth::cluster
