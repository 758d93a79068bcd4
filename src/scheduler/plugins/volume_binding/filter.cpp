// Evaluates which nodes can access the pod's volumes or can provide new ones.
#include <fmt/format.h>

#include <algorithm>

#include "kubernetes/api/csi_migration.hpp"
#include "kubernetes/api/label_selector.hpp"
#include "scheduler/plugins/node_affinity/matching_rows.hpp"
#include "scheduler/plugins/volume_binding/volume_binding.hpp"

namespace berth::plugins {

using cluster::Row;
using framework::Attempt;

struct VolumeBinding::FilterRun {
  explicit FilterRun(const Attempt& attempt, framework::Rejections& out) : attempt(attempt), out(out) {}

  const Attempt& attempt;
  framework::Rejections& out;
  framework::ScratchPool::Rows alive = attempt.Scratch();  // rows without an error or rejection so far
  framework::ScratchPool::Rows affinity_conflict = attempt.Scratch();
  framework::ScratchPool::Rows no_volume = attempt.Scratch();
  framework::ScratchPool::Rows no_space = attempt.Scratch();
  framework::ScratchPool::Rows lost = attempt.Scratch();

  // Reports an error for the rows, which are not evaluated further. `rows` may alias one of the sets here.
  void Fail(const RowSet& rows, const std::string& what) {
    out.Fail(rows, what);
    *alive -= rows;
    failed = true;
  }
  bool failed = false;
};

namespace {

const api::Quantity& SizeOf(const api::PersistentVolumeClaim& claim) {
  static const api::Quantity kNone;
  return claim.storage ? *claim.storage : kNone;
}

std::string_view ModeOf(const std::string& mode) {
  return mode.empty() ? std::string_view("Filesystem") : mode;
}

// Requirements on a volume, whether it is reserved for the claim or not.
bool Satisfies(const api::PersistentVolume& volume, const api::PersistentVolumeClaim& claim,
               bool uses_attributes) {
  if (volume.storage.Compare(SizeOf(claim)) < 0) return false;
  if (ModeOf(volume.volume_mode) != ModeOf(claim.volume_mode)) return false;
  const std::string& attributes = volume.volume_attributes_class_name;
  if (uses_attributes ? attributes != claim.volume_attributes_class_name : !attributes.empty()) return false;
  return !volume.metadata.deleting();
}

bool OffersModes(const api::PersistentVolume& volume, const api::PersistentVolumeClaim& claim) {
  return std::ranges::all_of(claim.access_modes, [&](const std::string& mode) {
    return std::ranges::find(volume.access_modes, mode) != volume.access_modes.end();
  });
}

bool ChosenFor(std::span<const DelayedClaim> earlier, const StorageIndex::Volume* volume, std::size_t row) {
  return std::ranges::any_of(earlier, [&](const DelayedClaim& other) {
    return other.matched.Has(row) && other.volumes[row] == volume;
  });
}

}  // namespace

void VolumeBinding::Filter(const Attempt& attempt, const RowSet& candidates,
                           framework::Rejections& out) const {
  const ClaimsPtr* known = attempt.state().Read(key_);
  if (known == nullptr) return;
  PodClaims& claims = **known;
  claims.filtered = true;
  FilterRun run(attempt, out);
  *run.alive |= candidates;
  CheckBound(claims, run);
  if (!claims.delayed.empty()) CheckDelayed(claims, run);
  if (run.failed) Failures::Count(failures_.predicate);
  const auto report = [&](framework::ReasonId reason, RowSet& rows) {
    rows &= *run.alive;
    if (rows.Empty()) return;
    out.Reject(reason, attempt.nodes().rows()) |= rows;
    out.unresolvable() |= rows;
  };
  report(affinity_conflict_, *run.affinity_conflict);
  report(no_volume_, *run.no_volume);
  report(no_space_, *run.no_space);
  report(lost_, *run.lost);
}

// --- bound claims ---

// The first claim that a node cannot satisfy determines its reason.
void VolumeBinding::CheckBound(const PodClaims& claims, FilterRun& run) const {
  auto fine = run.attempt.Scratch();
  *fine |= *run.alive;
  for (const ClaimPtr& claim : claims.bound) {
    StorageIndex::Volume* volume = index_->Find(claim->volume_name);
    if (volume == nullptr) {
      *run.lost |= *fine;
      return;
    }
    auto before = run.attempt.Scratch();
    *before |= *fine;
    RestrictToAffinity(*volume, run, *fine);
    *before -= *fine;
    *run.affinity_conflict |= *before;
  }
}

void VolumeBinding::RestrictToAffinity(StorageIndex::Volume& volume, FilterRun& run, RowSet& rows) const {
  const api::CsiMigration* migration = api::MigrationOf(volume.object->source);
  const RowSet* with_driver =
      migration != nullptr ? handle_.volumes.MigratedFrom(migration->plugin) : nullptr;
  if (with_driver == nullptr) return index_->Restrict(volume, run.attempt, rows);
  auto migrated = run.attempt.Scratch();
  *migrated |= rows;
  *migrated &= *with_driver;
  rows -= *migrated;
  index_->Restrict(volume, run.attempt, rows);
  if (migrated->Empty()) return;
  if (const auto done = index_->RestrictMigrated(volume, run.attempt, *migrated); !done) {
    return run.Fail(*migrated, "could not translate pv: " + done.error().message);
  }
  rows |= *migrated;
}

// --- unbound claims ---

void VolumeBinding::CheckDelayed(PodClaims& claims, FilterRun& run) const {
  const Attempt& attempt = run.attempt;
  auto here = attempt.Scratch();
  *here |= *run.alive;
  std::size_t first_free = 0;
  for (; first_free < claims.delayed.size() && claims.delayed[first_free].node_selected; ++first_free) {
    const Row selected = attempt.nodes().Find(claims.delayed[first_free].selected_node);
    const bool possible = selected != cluster::kNoRow && here->Has(selected);
    *run.no_volume |= *here;
    here->Clear();
    if (!possible) return;
    here->Add(selected);
    run.no_volume->Remove(selected);
  }
  const std::span<DelayedClaim> delayed = claims.delayed;
  const std::span<DelayedClaim> unselected = delayed.subspan(first_free);
  for (std::size_t i = 0; i < unselected.size() && !here->Empty(); ++i) {
    Match(unselected[i], unselected.first(i), run, *here);
    *here &= *run.alive;
  }
  for (DelayedClaim& claim : delayed) {
    auto rows = attempt.Scratch();
    *rows |= *here;
    if (!claim.node_selected) *rows -= claim.matched;
    if (!rows->Empty()) Provision(claim, run, *here, *rows);
  }
}

// Selects for each row the smallest matching volume that no earlier claim of the pod uses there.
void VolumeBinding::Match(DelayedClaim& wanted, std::span<const DelayedClaim> earlier, FilterRun& run,
                          const RowSet& rows) const {
  const Attempt& attempt = run.attempt;
  const api::PersistentVolumeClaim& claim = *wanted.claim;
  if (!uses_attributes_ && !claim.volume_attributes_class_name.empty()) {
    return run.Fail(rows, fmt::format("unsupported volumeAttributesClassName is set on claim {} when the "
                                      "feature-gate VolumeAttributesClass is disabled",
                                      claim.metadata.Key()));
  }
  std::optional<api::ParsedSelector> selector;
  if (claim.selector) {
    auto parsed = api::ParseLabelSelector(&*claim.selector);
    if (!parsed) {
      return run.Fail(rows, fmt::format("error creating internal label selector for claim: {}: {}",
                                        claim.metadata.Key(), parsed.error().message));
    }
    selector = *std::move(parsed);
  }
  wanted.volumes.resize(attempt.nodes().rows());
  wanted.matched -= rows;
  auto open = attempt.Scratch();
  *open |= rows;
  const auto take = [&](StorageIndex::Volume* volume, std::size_t row) {
    if (!open->Has(row) || ChosenFor(earlier, volume, row)) return;
    wanted.volumes[row] = volume;
    wanted.matched.Add(row);
    open->Remove(row);
  };

  // An unclaimed volume reserved for the claim is the only option, even where it is not accessible.
  for (StorageIndex::Volume* volume : index_->BoundTo(claim)) {
    const api::PersistentVolume& object = *volume->object;
    if (volume->class_name != wanted.class_name || !Satisfies(object, claim, uses_attributes_)) continue;
    if (!object.claim_ref->uid.empty() && object.claim_ref->uid != claim.metadata.uid) continue;
    auto settled = attempt.Scratch();
    open->ForEach([&](std::size_t row) {
      if (!ChosenFor(earlier, volume, row)) settled->Add(row);
    });
    auto usable = attempt.Scratch();
    *usable |= *settled;
    index_->Restrict(*volume, attempt, *usable);
    usable->ForEach([&](std::size_t row) { take(volume, row); });
    *open -= *settled;
  }
  for (StorageIndex::Volume* volume : index_->Free(wanted.class_name, SizeOf(claim))) {
    if (open->Empty()) return;
    const api::PersistentVolume& object = *volume->object;
    if (object.phase != "Available" || !Satisfies(object, claim, uses_attributes_) ||
        !OffersModes(object, claim))
      continue;
    if (selector && !selector->Matches(object.metadata.labels)) continue;
    if (StorageIndex::HasNoAffinity(*volume)) {
      auto all = attempt.Scratch();
      *all |= *open;
      all->ForEach([&](std::size_t row) { take(volume, row); });
    } else {
      index_->RowsOf(*volume, attempt).ForEach([&](std::size_t row) { take(volume, row); });
    }
  }
}

// Rows in `rows` need a new volume; those where it cannot be provisioned are removed from `alive`.
void VolumeBinding::Provision(DelayedClaim& wanted, FilterRun& run, RowSet& alive, RowSet& rows) const {
  const auto storage_class = handle_.objects.Of<api::StorageClass>().Find(wanted.class_name);
  if (storage_class == nullptr) {
    run.Fail(rows, fmt::format("failed to find storage class \"{}\"", wanted.class_name));
    alive -= rows;
    return;
  }
  const auto reject = [&](const RowSet& lacking, RowSet& reason) {
    reason |= lacking;
    alive -= lacking;
  };
  const std::string& provisioner = storage_class->provisioner;
  if (provisioner.empty() || provisioner == "kubernetes.io/no-provisioner")
    return reject(rows, *run.no_volume);
  auto lacking = run.attempt.Scratch();
  *lacking |= rows;
  index_->Restrict(*storage_class, run.attempt, rows);
  *lacking -= rows;
  reject(*lacking, *run.no_volume);

  std::ranges::for_each(wanted.capacity, [](std::int64_t& value) { value = DelayedClaim::kUntracked; });
  lacking->Clear();
  *lacking |= rows;
  if (!RestrictToCapacity(wanted, *storage_class, run, rows)) return;
  *lacking -= rows;
  reject(*lacking, *run.no_space);
}

// Removes rows without sufficient capacity. Returns false if capacity is not tracked.
bool VolumeBinding::RestrictToCapacity(DelayedClaim& wanted, const api::StorageClass& storage_class,
                                       FilterRun& run, RowSet& rows) const {
  const auto& size = wanted.claim->storage;
  if (!size) return false;
  const auto driver = handle_.objects.Of<api::CSIDriver>().Find(storage_class.provisioner);
  if (driver == nullptr || !driver->storage_capacity) return false;
  const std::int64_t bytes = size->Value();
  wanted.capacity.resize(run.attempt.nodes().rows(), DelayedClaim::kUntracked);
  auto capable = run.attempt.Scratch();
  for (const StorageIndex::Capacity& capacity : index_->Capacities(storage_class.metadata.name)) {
    const auto& object = *capacity.object;
    const auto& limit = object.maximum_volume_size ? object.maximum_volume_size : object.capacity;
    if (!limit || limit->Value() < bytes) continue;
    auto reached = run.attempt.Scratch();
    *reached |= rows;
    *reached -= *capable;
    RestrictToTerm(capacity.nodes, run.attempt, *reached);
    const std::int64_t whole = object.capacity.value_or(api::Quantity{}).Value();
    reached->ForEach([&](std::size_t row) { wanted.capacity[row] = whole; });
    *capable |= *reached;
  }
  rows &= *capable;
  return true;
}

}  // namespace berth::plugins
