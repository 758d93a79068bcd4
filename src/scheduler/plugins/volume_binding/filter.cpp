// Evaluates which nodes can access the pod's volumes or can provide new ones.
#include <fmt/format.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_set.hpp>
#include <boost/unordered_map.hpp>
#include <map>

#include "base/row_group.hpp"
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

  // A pod may list thousands of claims, and one of them again and again: what is known from earlier ones is
  // not computed again. Rows only become fewer from claim to claim.

  // The free volumes that a claim may use, found as far as rows needed them.
  struct Options {
    std::optional<api::ParsedSelector> selector;
    std::vector<StorageIndex::Volume*> suitable;  // without those of `used_up`
    std::span<StorageIndex::Volume* const> rest;  // not compared with the claim yet
  };
  boost::unordered_map<const api::PersistentVolumeClaim*, Options> options;
  // The rows on which earlier claims use a volume.
  boost::unordered_map<const StorageIndex::Volume*, RowGroup> used;
  // The free volumes that earlier claims use on all rows from which they are accessible.
  boost::unordered_flat_set<const StorageIndex::Volume*> used_up;

  void RemoveUsed(const StorageIndex::Volume* volume, RowSet& rows) const {
    if (const auto found = used.find(volume); found != used.end()) found->second.RemoveFrom(rows);
  }
  void AddUsed(const StorageIndex::Volume* volume, const RowSet& rows) {
    if (rows.Empty()) return;
    RowGroup& group = used[volume];
    rows.ForEach([&](std::size_t row) { group.Add(static_cast<std::uint32_t>(row)); });
  }

  // The rows on which a volume of a class and size can be provisioned.
  struct Provisionable {
    RowSet rows;
    std::shared_ptr<std::vector<std::int64_t>> capacity;
  };
  std::map<std::pair<std::string_view, std::optional<std::int64_t>>, Provisionable> provisionable;
  bool last_match = false;  // no claim is matched after this one
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

// Requirements on an unclaimed volume.
bool Suits(const api::PersistentVolume& volume, const api::PersistentVolumeClaim& claim,
           const std::optional<api::ParsedSelector>& selector, bool uses_attributes) {
  return volume.phase == "Available" && Satisfies(volume, claim, uses_attributes) &&
         OffersModes(volume, claim) && (!selector || selector->Matches(volume.metadata.labels));
}

void Choose(DelayedClaim& wanted, StorageIndex::Volume* volume, const RowSet& rows, std::size_t all_rows) {
  if (rows.Empty()) return;
  wanted.volumes.resize(all_rows);
  rows.ForEach([&](std::size_t row) { wanted.volumes[row] = volume; });
  wanted.matched |= rows;
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
    run.last_match = i + 1 == unselected.size();
    Match(unselected[i], run, *here);
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
void VolumeBinding::Match(DelayedClaim& wanted, FilterRun& run, const RowSet& rows) const {
  const api::PersistentVolumeClaim& claim = *wanted.claim;
  if (!uses_attributes_ && !claim.volume_attributes_class_name.empty()) {
    return run.Fail(rows, fmt::format("unsupported volumeAttributesClassName is set on claim {} when the "
                                      "feature-gate VolumeAttributesClass is disabled",
                                      claim.metadata.Key()));
  }
  const auto [known, added] = run.options.try_emplace(&claim);
  if (added) {
    FilterRun::Options& options = known->second;
    if (claim.selector) {
      auto parsed = api::ParseLabelSelector(&*claim.selector);
      if (!parsed) {
        return run.Fail(rows, fmt::format("error creating internal label selector for claim: {}: {}",
                                          claim.metadata.Key(), parsed.error().message));
      }
      options.selector = *std::move(parsed);
    }
    options.rest = index_->Free(wanted.class_name, SizeOf(claim));
  }
  wanted.matched -= rows;
  auto open = run.attempt.Scratch();
  *open |= rows;
  MatchReserved(wanted, run, *open);
  MatchFree(wanted, run, rows, *open);
  if (!wanted.listed_again) run.options.erase(known);
}

// An unclaimed volume reserved for the claim is the only option, even where it is not accessible.
void VolumeBinding::MatchReserved(DelayedClaim& wanted, FilterRun& run, RowSet& open) const {
  const Attempt& attempt = run.attempt;
  const api::PersistentVolumeClaim& claim = *wanted.claim;
  for (StorageIndex::Volume* volume : index_->BoundTo(claim)) {
    const api::PersistentVolume& object = *volume->object;
    if (volume->class_name != wanted.class_name || !Satisfies(object, claim, uses_attributes_)) continue;
    if (!object.claim_ref->uid.empty() && object.claim_ref->uid != claim.metadata.uid) continue;
    auto settled = attempt.Scratch();
    *settled |= open;
    run.RemoveUsed(volume, *settled);
    auto usable = attempt.Scratch();
    *usable |= *settled;
    index_->Restrict(*volume, attempt, *usable);
    Choose(wanted, volume, *usable, attempt.nodes().rows());
    if (wanted.listed_again) run.AddUsed(volume, *usable);
    open -= *settled;
  }
}

void VolumeBinding::MatchFree(DelayedClaim& wanted, FilterRun& run, const RowSet& rows, RowSet& open) const {
  const Attempt& attempt = run.attempt;
  FilterRun::Options& options = run.options.at(wanted.claim.get());
  auto usable = attempt.Scratch();
  // Returns whether a later claim may use the volume.
  const auto take = [&](StorageIndex::Volume* volume) {
    usable->Clear();
    if (StorageIndex::HasNoAffinity(*volume)) {
      *usable |= rows;
    } else {
      index_->RowsOf(*volume, attempt).AddTo(*usable);
      *usable &= rows;
    }
    run.RemoveUsed(volume, *usable);
    const bool used_up = usable->IsSubsetOf(open);
    *usable &= open;
    Choose(wanted, volume, *usable, attempt.nodes().rows());
    open -= *usable;
    if (run.last_match) return false;
    used_up ? (void)run.used_up.insert(volume) : run.AddUsed(volume, *usable);
    return !used_up;
  };

  std::vector<StorageIndex::Volume*>& suitable = options.suitable;
  std::size_t next = 0, kept = 0;
  for (; next < suitable.size() && !open.Empty(); ++next) {
    if (!run.used_up.contains(suitable[next]) && take(suitable[next])) suitable[kept++] = suitable[next];
  }
  suitable.erase(suitable.begin() + static_cast<std::ptrdiff_t>(kept),
                 suitable.begin() + static_cast<std::ptrdiff_t>(next));
  while (!options.rest.empty() && !open.Empty()) {
    StorageIndex::Volume* const volume = options.rest.front();
    options.rest = options.rest.subspan(1);
    if (run.used_up.contains(volume) ||
        !Suits(*volume->object, *wanted.claim, options.selector, uses_attributes_))
      continue;
    if (take(volume) && wanted.listed_again) suitable.push_back(volume);
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
  const auto& size = wanted.claim->storage;
  const auto bytes = size ? std::optional(size->Value()) : std::nullopt;
  FilterRun::Provisionable& known = run.provisionable[{wanted.class_name, bytes}];
  rows -= known.rows;
  if (!rows.Empty()) {
    auto lacking = run.attempt.Scratch();
    *lacking |= rows;
    index_->Restrict(*storage_class, run.attempt, rows);
    *lacking -= rows;
    reject(*lacking, *run.no_volume);

    lacking->Clear();
    *lacking |= rows;
    if (RestrictToCapacity(bytes, *storage_class, run, rows, known.capacity)) {
      *lacking -= rows;
      reject(*lacking, *run.no_space);
    }
    known.rows |= rows;
  }
  wanted.capacity = known.capacity;
}

// Removes rows without sufficient capacity. Returns false if capacity is not tracked. `column`: by row, made
// if scores need it.
bool VolumeBinding::RestrictToCapacity(std::optional<std::int64_t> bytes,
                                       const api::StorageClass& storage_class, FilterRun& run, RowSet& rows,
                                       std::shared_ptr<std::vector<std::int64_t>>& column) const {
  if (!bytes) return false;
  const auto driver = handle_.objects.Of<api::CSIDriver>().Find(storage_class.provisioner);
  if (driver == nullptr || !driver->storage_capacity) return false;
  if (scores_ && column == nullptr) {
    column = std::make_shared<std::vector<std::int64_t>>(run.attempt.nodes().rows(),
                                                         std::int64_t{DelayedClaim::kUntracked});
  }
  auto capable = run.attempt.Scratch();
  auto reached = run.attempt.Scratch();
  for (StorageIndex::Capacity& capacity : index_->Capacities(storage_class.metadata.name)) {
    const auto& object = *capacity.object;
    const auto& limit = object.maximum_volume_size ? object.maximum_volume_size : object.capacity;
    if (!limit || limit->Value() < *bytes) continue;
    reached->Clear();
    index_->RowsOf(capacity, run.attempt).AddTo(*reached);
    *reached &= rows;
    *reached -= *capable;
    const std::int64_t whole = object.capacity.value_or(api::Quantity{}).Value();
    if (column != nullptr) reached->ForEach([&](std::size_t row) { (*column)[row] = whole; });
    *capable |= *reached;
  }
  rows &= *capable;
  return true;
}

}  // namespace berth::plugins
