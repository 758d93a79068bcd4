#include "scheduler/plugins/node_volume_limits/node_volume_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <string_view>

#include "base/seeded_hash.hpp"
#include "base/text_map.hpp"
#include "kubernetes/api/csi_migration.hpp"
#include "scheduler/framework/event_cache.hpp"

namespace berth::plugins {
namespace {

using api::Volume;
using cluster::CsiVolume;
using cluster::Row;
using framework::Attempt;
using framework::Hint;

bool CanCount(const Volume& volume) {
  return volume.source == Volume::Source::kPersistentVolumeClaim ||
         volume.source == Volume::Source::kEphemeral || api::MigrationOf(volume.source) != nullptr;
}

bool HasCountable(const api::Pod& pod) { return std::ranges::any_of(pod.spec.volumes, CanCount); }

// Adds the rows on which `count` more volumes exceed the limit.
void AddFull(const cluster::VolumesInUse::Driver& driver, std::int32_t count, const RowSet& rows,
             RowSet& out) {
  for (const auto& [row, limit] : driver.few_limits) {
    if (rows.Has(row) && driver.in_use_counts.At(row) + count > limit) out.Add(row);
  }
  if (driver.limit_column.empty()) return;
  const RowSet::Blocks blocks = rows.blocks(driver.limit_column.size());
  RowSet::Word* to = out.MutableWords(rows);
  for (std::size_t block = blocks.First(); block < blocks.size(); block = blocks.Next(block)) {
    const std::size_t begin = block * RowSet::kWordBits;
    const std::size_t end = std::min(begin + RowSet::kWordBits, driver.limit_column.size());
    RowSet::Word full = 0;
    for (std::size_t row = begin; row < end; ++row)
      full |= RowSet::Word{driver.in_use_column[row] + count > driver.limit_column[row]} << (row - begin);
    to[block] |= full & blocks[block];
  }
}

// Of the update of a CSINode: whether the limit of a driver grew.
struct LimitGrowth {
  bool any = false;
};

// A CSINode may list thousands of drivers; of equal names the last one counts.
LimitGrowth GrowthOf(const api::CSINode& before, const api::CSINode& after) {
  boost::unordered_flat_map<std::string_view, std::int32_t, SeededHash> counts;
  for (const api::CSINode::Driver& driver : before.drivers)
    counts.insert_or_assign(driver.name, driver.count.value_or(0));
  const bool grew = std::ranges::any_of(after.drivers, [&](const api::CSINode::Driver& driver) {
    const auto known = counts.find(driver.name);
    return driver.count.value_or(0) > (known == counts.end() ? 0 : known->second);
  });
  return {grew};
}

Hint AfterCsiNodeUpdate(const framework::EventObjects& objects) {
  const auto growth = framework::ComputeOnce<LimitGrowth>(
      objects, [&] { return GrowthOf(*objects.Before<api::CSINode>(), *objects.After<api::CSINode>()); });
  return framework::QueueIf(growth->any);
}

Expected<Hint> AfterDetachment(const api::Pod& waiting, const api::VolumeAttachment& gone) {
  for (const Volume& volume : waiting.spec.volumes) {
    if (volume.source == Volume::Source::kPersistentVolumeClaim) return Hint::kQueue;
    const api::CsiMigration* migration = api::MigrationOf(volume.source);
    if (migration == nullptr) continue;
    if (auto handle = api::CsiHandleOf(volume); !handle) {
      return std::unexpected(
          std::move(handle).error().In(fmt::format("converting volume({}) from inline to csi", volume.name)));
    }
    if (gone.attacher == migration->driver) return Hint::kQueue;
  }
  return Hint::kSkip;
}

}  // namespace

NodeVolumeLimits::NodeVolumeLimits(framework::Handle& handle)
    : objects_(handle.objects),
      volumes_(handle.volumes),
      reasons_(handle.reasons),
      driver_required_(handle.gates.Enabled("VolumeLimitScaling")),
      exceeded_(handle.reasons.Intern("node(s) exceed max volume count")) {}

framework::PreFilterResult NodeVolumeLimits::PreFilter(const Attempt& attempt) const {
  if (!HasCountable(*attempt.pod().pod)) return {framework::Status::Skip(), std::nullopt};
  return {};
}

NodeVolumeLimits::Wanted NodeVolumeLimits::Collect(const api::Pod& pod, bool with_csi_node) const {
  Wanted wanted;
  FlatTextSet known;  // ids; a pod may have thousands of volumes
  for (const Volume& volume : pod.spec.volumes) {
    cluster::LookedUp found = volumes_.LookUp(pod, volume);
    if (found.volume.migrated && !with_csi_node) continue;
    if (!found.error.empty()) return {{}, std::move(found.error), found.claim_missing};
    if (found.volume.id.empty()) continue;
    if (known.insert(found.volume.id).second) wanted.volumes.push_back(std::move(found.volume));
  }
  return wanted;
}

void NodeVolumeLimits::Filter(const Attempt& attempt, const RowSet& candidates,
                              framework::Rejections& out) const {
  const api::Pod& pod = *attempt.pod().pod;
  auto with = attempt.Scratch();
  *with |= candidates;
  *with &= volumes_.with_csi_node();
  auto without = attempt.Scratch();
  *without |= candidates;
  *without -= *with;
  if (!with->Empty()) Evaluate(Collect(pod, true), attempt, *with, out);
  if (!without->Empty()) Evaluate(Collect(pod, false), attempt, *without, out);
}

void NodeVolumeLimits::Evaluate(const Wanted& wanted, const Attempt& attempt, RowSet& rows,
                                framework::Rejections& out) const {
  if (wanted.claim_missing) {
    rows.ForEach([&](std::size_t row) { out.Add(static_cast<Row>(row), wanted.error); });
    out.unresolvable() |= rows;
    return;
  }
  if (!wanted.error.empty()) return out.Fail(rows, wanted.error);
  if (driver_required_) RejectWithoutDriver(wanted, attempt, rows, out);
  rows &= volumes_.with_limits();
  if (wanted.volumes.empty() || rows.Empty()) return;
  auto uncountable = attempt.Scratch();
  *uncountable |= rows;
  *uncountable &= volumes_.uncountable();
  uncountable->ForEach([&](std::size_t row) {
    out.Fail(static_cast<Row>(row), volumes_.UncountableReason(static_cast<Row>(row)));
  });
  rows -= *uncountable;
  RowSet& rejected = out.Reject(exceeded_, attempt.nodes().rows());
  // One group per driver. The order of the groups does not matter: all of them add to one set of rows.
  FlatTextMap<std::vector<const CsiVolume*>> by_driver;
  for (const CsiVolume& volume : wanted.volumes) by_driver[volume.driver].push_back(&volume);
  for (const auto& [driver, volumes] : by_driver) AddExceeded(driver, volumes, rows, rejected);
}

// If several drivers are missing, kube-scheduler reports a random one; Berth reports the first in the order
// of the pod's volumes.
void NodeVolumeLimits::RejectWithoutDriver(const Wanted& wanted, const Attempt& attempt, RowSet& rows,
                                           framework::Rejections& out) const {
  for (const CsiVolume& volume : wanted.volumes) {
    const auto object = objects_.Of<api::CSIDriver>().Find(volume.driver);
    if (object == nullptr || !object->prevent_pod_scheduling_if_missing) continue;
    auto missing = attempt.Scratch();
    *missing |= rows;
    if (const auto* driver = volumes_.FindDriver(volume.driver)) driver->installed.RemoveFrom(*missing);
    if (missing->Empty()) continue;
    rows -= *missing;
    out.Reject(reasons_.Intern(volume.driver + " CSI driver is not installed on the node"),
               attempt.nodes().rows()) |= *missing;
  }
}

void NodeVolumeLimits::AddExceeded(const std::string& driver_name,
                                   const std::vector<const CsiVolume*>& of_driver, const RowSet& rows,
                                   RowSet& rejected) const {
  const auto* driver = volumes_.FindDriver(driver_name);
  if (driver == nullptr || driver->limits == 0) return;
  // First as if none of the volumes were on the node; usually no row is left then.
  RowSet full = rejected;
  full.Clear();
  AddFull(*driver, static_cast<std::int32_t>(of_driver.size()), rows, full);
  if (full.Empty()) return;
  cluster::RowCounts used;  // by row: of the pod's volumes
  for (const CsiVolume* volume : of_driver) {
    volumes_.ForEachUser(volume->id, [&](Row row) {
      if (full.Has(row)) used.Add(row, 1);
    });
  }
  full.ForEach([&](std::size_t index) {
    const Row row = static_cast<Row>(index);
    const std::int64_t more = std::ssize(of_driver) - used.At(row);
    if (more > 0 && driver->InUseOn(row) + more > driver->LimitOf(row)) rejected.Add(row);
  });
}

std::vector<framework::EventRegistration> NodeVolumeLimits::EventsToRegister() const {
  using namespace framework;
  return {{EventResource::kCSINode, kAdd},
          {EventResource::kCSINode, kUpdate,
           [](const cluster::PodInfo&, const EventObjects& objects) { return AfterCsiNodeUpdate(objects); }},
          WhenAssignedPod(kDelete,
                          [](const cluster::PodInfo&, const api::Pod* gone, const api::Pod*) {
                            return framework::QueueIf(IsBoundOrNominated(*gone) && HasCountable(*gone));
                          }),
          When<api::PersistentVolumeClaim>(
              EventResource::kPersistentVolumeClaim, kAdd,
              [](const cluster::PodInfo& waiting, const api::PersistentVolumeClaim*,
                 const api::PersistentVolumeClaim* claim) {
                return framework::QueueIf(cluster::ReferencesClaim(*waiting.pod, *claim));
              }),
          When<api::VolumeAttachment>(
              EventResource::kVolumeAttachment, kDelete,
              [](const cluster::PodInfo& waiting, const api::VolumeAttachment* gone,
                 const api::VolumeAttachment*) { return AfterDetachment(*waiting.pod, *gone); })};
}

}  // namespace berth::plugins
