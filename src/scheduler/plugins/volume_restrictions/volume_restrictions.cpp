#include "scheduler/plugins/volume_restrictions/volume_restrictions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/row_set.hpp"
#include "scheduler/cluster/disks_in_use.hpp"
#include "scheduler/cluster/volumes_in_use.hpp"
#include "scheduler/framework/event_cache.hpp"

namespace berth::plugins {
namespace {

using api::Volume;
using framework::Attempt;
using framework::Status;

bool UsesClaim(const api::Pod& pod, const std::string& claim) {
  return std::ranges::any_of(
      pod.spec.volumes, [&](const Volume& volume) { return cluster::IsClaim(volume) && volume.id == claim; });
}

// The volumes of a deleted pod. It and the waiting pods may have thousands: no function compares each with
// each, and the tables are built once for all waiting pods.
struct FreedVolumes {
  cluster::DisksInUse disks;             // of a single node
  std::vector<std::string_view> claims;  // sorted
};

FreedVolumes VolumesOf(const api::Pod& gone) {
  FreedVolumes freed;
  for (const Volume& volume : gone.spec.volumes) {
    freed.disks.Add(0, volume);
    if (cluster::IsClaim(volume)) freed.claims.push_back(volume.id);
  }
  std::ranges::sort(freed.claims);
  return freed;
}

bool SharesADisk(const api::Pod& pod, const cluster::DisksInUse& disks) {
  if (disks.empty()) return false;
  RowSet conflicts(1);
  for (const Volume& volume : pod.spec.volumes) disks.AddConflicts(volume, conflicts);
  return !conflicts.Empty();
}

bool SharesAClaim(const api::Pod& pod, const std::vector<std::string_view>& claims) {
  return std::ranges::any_of(pod.spec.volumes, [&](const Volume& volume) {
    return cluster::IsClaim(volume) && std::ranges::binary_search(claims, std::string_view(volume.id));
  });
}

framework::Hint AfterDeletion(const api::Pod& waiting, const framework::EventObjects& objects) {
  const api::Pod& gone = *objects.Before<api::Pod>();
  if (gone.metadata.ns != waiting.metadata.ns) return framework::Hint::kSkip;
  const auto freed = framework::ComputeOnce<FreedVolumes>(objects, [&] { return VolumesOf(gone); });
  return framework::QueueIf(SharesADisk(waiting, freed->disks) || SharesAClaim(waiting, freed->claims));
}

}  // namespace

VolumeRestrictions::VolumeRestrictions(framework::Handle& handle)
    : objects_(handle.objects),
      volumes_(handle.volumes),
      key_(handle.NewKey<ExclusiveClaims>()),
      disk_taken_(handle.reasons.Intern("node(s) had no available disk")),
      claim_taken_(
          handle.reasons.Intern("node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod "
                                "access mode already in-use by another pod")) {}

framework::PreFilterResult VolumeRestrictions::PreFilter(const Attempt& attempt) const {
  const api::Pod& pod = *attempt.pod().pod;
  if (pod.spec.volumes.empty()) return {Status::Skip(), std::nullopt};
  ExclusiveClaims sole;
  for (const Volume& volume : pod.spec.volumes) {
    if (!cluster::IsClaim(volume)) continue;
    const auto claim = objects_.Of<api::PersistentVolumeClaim>().Find(pod.metadata.ns, volume.id);
    if (claim == nullptr) {
      return {Status::Unresolvable(fmt::format("persistentvolumeclaim \"{}\" not found", volume.id)),
              std::nullopt};
    }
    if (std::ranges::find(claim->access_modes, "ReadWriteOncePod") == claim->access_modes.end()) continue;
    sole.claims.push_back(volume.id);
  }
  std::ranges::sort(sole.claims);
  sole.claims.erase(std::ranges::unique(sole.claims).begin(), sole.claims.end());
  sole.uses = std::ranges::count_if(
      sole.claims, [&](const std::string& claim) { return volumes_.ClaimIsUsed(pod.metadata.ns, claim); });
  if (sole.uses == 0 && !std::ranges::any_of(pod.spec.volumes, cluster::IsExclusiveDisk))
    return {Status::Skip(), std::nullopt};
  attempt.state().Write(key_, std::move(sole));
  return {};
}

void VolumeRestrictions::Count(const Attempt& attempt, const api::Pod& pod, int amount) const {
  ExclusiveClaims* sole = attempt.state().Read(key_);
  if (sole == nullptr || sole->claims.empty()) return;
  for (const Volume& volume : pod.spec.volumes) {
    if (cluster::IsClaim(volume) && std::ranges::binary_search(sole->claims, volume.id)) sole->uses += amount;
  }
}

Status VolumeRestrictions::AddPod(const Attempt& attempt, const cluster::PlacedPod& added,
                                  cluster::Row) const {
  Count(attempt, *added.pod, 1);
  return {};
}

Status VolumeRestrictions::RemovePod(const Attempt& attempt, const cluster::PlacedPod& removed,
                                     cluster::Row) const {
  Count(attempt, *removed.pod, -1);
  return {};
}

void VolumeRestrictions::Filter(const Attempt& attempt, const RowSet& candidates,
                                framework::Rejections& out) const {
  RowSet& rejected = out.Reject(disk_taken_, attempt.nodes().rows());
  for (const Volume& volume : attempt.pod().pod->spec.volumes)
    volumes_.disks().AddConflicts(volume, rejected);
  const ExclusiveClaims* sole = attempt.state().Read(key_);
  if (sole == nullptr || sole->uses <= 0) return;
  auto others = attempt.Scratch();
  *others |= candidates;
  *others -= rejected;
  out.Reject(claim_taken_, attempt.nodes().rows()) |= *others;
}

std::vector<framework::EventRegistration> VolumeRestrictions::EventsToRegister() const {
  using namespace framework;
  return {
      {EventResource::kAssignedPod, kDelete,
       [](const cluster::PodInfo& waiting, const EventObjects& objects) {
         return AfterDeletion(*waiting.pod, objects);
       }},
      {EventResource::kNode, kAdd},
      When<api::PersistentVolumeClaim>(EventResource::kPersistentVolumeClaim, kAdd,
                                       [](const cluster::PodInfo& waiting, const api::PersistentVolumeClaim*,
                                          const api::PersistentVolumeClaim* claim) {
                                         const bool helps = claim->metadata.ns == waiting.pod->metadata.ns &&
                                                            UsesClaim(*waiting.pod, claim->metadata.name);
                                         return framework::QueueIf(helps);
                                       })};
}

}  // namespace berth::plugins
