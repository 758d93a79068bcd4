#include "scheduler/plugins/volume_binding/storage_index.hpp"

#include <algorithm>

#include "kubernetes/api/csi_migration.hpp"
#include "kubernetes/api/label_selector.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/plugins/node_affinity/matching_rows.hpp"

namespace berth::plugins {
namespace {

using cluster::CompiledTerm;
using framework::Attempt;

bool SmallerThan(const api::PersistentVolume& a, const api::PersistentVolume& b) {
  const int order = a.storage.Compare(b.storage);
  return order != 0 ? order < 0 : a.metadata.name < b.metadata.name;
}

template <class T>
void KeepFollowing(cluster::ObjectTable<T>& table, const std::shared_ptr<const void>& owner,
                   const typename cluster::ObjectTable<T>::Listener& listener) {
  table.ForEachAssumed([&](const auto& object) { listener({nullptr, object}); });
  table.ListenFor(owner, listener);
}

}  // namespace

StorageIndex::StorageIndex(framework::Handle& handle) : words_(handle.symbols) {
  KeepFollowing<api::PersistentVolume>(handle.objects.Of<api::PersistentVolume>(), alive_,
                                       [this](const auto& change) { VolumeChanged(change); });
  KeepFollowing<api::CSIStorageCapacity>(handle.objects.Of<api::CSIStorageCapacity>(), alive_,
                                         [this](const auto& change) { CapacityChanged(change); });
}

// --- volumes ---

void StorageIndex::VolumeChanged(const ports::Change<api::PersistentVolume>& change) {
  const std::string& name = (change.after != nullptr ? *change.after : *change.before).metadata.name;
  Volume& volume = volumes_[name];
  if (volume.object != nullptr) RemoveFromIndex(volume);
  if (change.after == nullptr) {
    volumes_.erase(name);
    return;
  }
  const bool same_place = volume.object != nullptr &&
                          volume.object->node_affinity == change.after->node_affinity &&
                          volume.object->metadata.labels == change.after->metadata.labels;
  if (!same_place) {
    volume.terms.reset();
    volume.migrated.reset();
    volume.rows.reset();
  }
  volume.object = change.after;
  volume.class_name = api::StorageClassOf(*change.after);
  AddToIndex(volume);
}

void StorageIndex::AddToIndex(Volume& volume) {
  const auto& claim = volume.object->claim_ref;
  auto& shelf = claim ? bound_to_[claim->ns + "/" + claim->name] : free_[volume.class_name];
  const auto place = std::ranges::lower_bound(
      shelf, &volume, [](const Volume* a, const Volume* b) { return SmallerThan(*a->object, *b->object); });
  shelf.insert(place, &volume);
}

void StorageIndex::RemoveFromIndex(Volume& volume) {
  const auto& claim = volume.object->claim_ref;
  auto& shelves = claim ? bound_to_ : free_;
  const auto shelf = shelves.find(claim ? claim->ns + "/" + claim->name : volume.class_name);
  std::erase(shelf->second, &volume);
  if (shelf->second.empty()) shelves.erase(shelf);
}

StorageIndex::Volume* StorageIndex::Find(const std::string& name) {
  const auto found = volumes_.find(name);
  return found == volumes_.end() ? nullptr : &found->second;
}

std::span<StorageIndex::Volume* const> StorageIndex::Free(const std::string& class_name,
                                                          const api::Quantity& size) const {
  const auto shelf = free_.find(class_name);
  if (shelf == free_.end()) return {};
  const auto first = std::ranges::partition_point(
      shelf->second, [&](const Volume* volume) { return volume->object->storage.Compare(size) < 0; });
  return {first, shelf->second.end()};
}

std::span<StorageIndex::Volume* const> StorageIndex::BoundTo(const api::PersistentVolumeClaim& claim) const {
  const auto shelf = bound_to_.find(claim.metadata.Key());
  if (shelf == bound_to_.end()) return {};
  return shelf->second;
}

// --- access to volumes ---

StorageIndex::Terms StorageIndex::Compile(const api::NodeSelector& selector) const {
  Terms terms;
  cluster::SymbolScope scope(words_);
  for (const api::NodeSelectorTerm& term : selector.terms) {
    // All terms are validated, but the affinity of a volume matches labels only.
    terms.any_of.push_back(cluster::CompileTerm(term, "", nullptr, scope));
    terms.any_of.back().fields.clear();
  }
  terms.symbols = scope.Lease();
  return terms;
}

void StorageIndex::Restrict(Volume& volume, const Attempt& attempt, RowSet& rows) const {
  if (HasNoAffinity(volume)) return;
  if (!volume.terms) volume.terms = Compile(*volume.object->node_affinity);
  RestrictToAnyTerm(volume.terms->any_of, attempt, rows);
}

Expected<void> StorageIndex::RestrictMigrated(Volume& volume, const Attempt& attempt, RowSet& rows) const {
  if (!volume.migrated) {
    if (auto handle = api::CsiHandleOf(*volume.object); !handle) {
      volume.migrated = std::unexpected(std::move(handle).error());
    } else {
      const auto affinity = api::CsiAffinityOf(*volume.object);
      // An affinity without requirements allows all nodes.
      volume.migrated = affinity ? Compile(*affinity) : Terms{.any_of = {CompiledTerm{}}, .symbols = {}};
    }
  }
  if (!*volume.migrated) return std::unexpected(volume.migrated->error());
  RestrictToAnyTerm((*volume.migrated)->any_of, attempt, rows);
  return {};
}

template <class Cached, class Restriction>
const RowGroup& StorageIndex::CachedRows(Cached& cached, const Attempt& attempt, Restriction&& restrict) {
  const std::uint64_t generation = attempt.nodes().label_generation();
  if (!cached.rows || cached.rows_generation != generation) {
    auto matching = attempt.Scratch();
    *matching |= attempt.nodes().all();
    restrict(*matching);
    cached.rows.emplace();
    matching->ForEach([&](std::size_t row) { cached.rows->Add(static_cast<std::uint32_t>(row)); });
    cached.rows_generation = generation;
  }
  return *cached.rows;
}

const RowGroup& StorageIndex::RowsOf(Volume& volume, const Attempt& attempt) const {
  return CachedRows(volume, attempt, [&](RowSet& rows) { Restrict(volume, attempt, rows); });
}

// --- provisioning ---

void StorageIndex::Restrict(const api::StorageClass& storage_class, const Attempt& attempt, RowSet& rows) {
  if (storage_class.allowed_topologies.empty()) return;
  Topologies& known = topologies_[storage_class.metadata.name];
  if (known.source != storage_class.allowed_topologies) {
    known = {storage_class.allowed_topologies, {}};
    cluster::SymbolScope scope(words_);
    for (const auto& topology : storage_class.allowed_topologies) {
      api::NodeSelectorTerm term;
      for (const auto& requirement : topology)
        term.match_expressions.push_back({requirement.key, "In", requirement.values});
      known.terms.any_of.push_back(cluster::CompileTerm(term, "", nullptr, scope));
    }
    known.terms.symbols = scope.Lease();
  }
  RestrictToAnyTerm(known.terms.any_of, attempt, rows);
}

StorageIndex::Capacity StorageIndex::Compile(std::shared_ptr<const api::CSIStorageCapacity> object) const {
  const api::LabelSelector& selector = *object->node_topology;
  Capacity capacity;
  capacity.object = std::move(object);
  if (selector.empty()) return capacity;
  cluster::SymbolScope scope(words_);
  api::NodeSelectorTerm term;
  for (const auto& [key, value] : selector.match_labels)
    term.match_expressions.push_back({key, "In", {value}});
  for (const auto& [key, op, values] : selector.match_expressions)
    term.match_expressions.push_back({key, op, values});
  capacity.nodes = cluster::CompileTerm(term, "", nullptr, scope);
  capacity.nodes.never |= !api::ParseLabelSelector(&selector).has_value();
  capacity.symbols = scope.Lease();
  return capacity;
}

void StorageIndex::CapacityChanged(const ports::Change<api::CSIStorageCapacity>& change) {
  if (change.before != nullptr) {
    const auto list = capacities_.find(change.before->storage_class_name);
    if (list != capacities_.end()) {
      std::erase_if(list->second, [&](const Capacity& capacity) {
        return capacity.object->metadata.Key() == change.before->metadata.Key();
      });
      if (list->second.empty()) capacities_.erase(list);
    }
  }
  if (change.after == nullptr || !change.after->node_topology) return;
  capacities_[change.after->storage_class_name].push_back(Compile(change.after));
}

std::span<StorageIndex::Capacity> StorageIndex::Capacities(const std::string& class_name) {
  const auto list = capacities_.find(class_name);
  if (list == capacities_.end()) return {};
  return list->second;
}

const RowGroup& StorageIndex::RowsOf(Capacity& capacity, const Attempt& attempt) const {
  return CachedRows(capacity, attempt, [&](RowSet& rows) { RestrictToTerm(capacity.nodes, attempt, rows); });
}

}  // namespace berth::plugins
