// Volumes, storage classes and capacities for VolumeBinding, compiled once per object.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/row_group.hpp"
#include "base/text_map.hpp"
#include "scheduler/cluster/node_selection.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/plugin.hpp"

namespace berth::plugins {

// Follows the cluster, including assumed objects. Pointers to volumes are valid until the next change.
// Scheduler loop only.
class StorageIndex {
 public:
  explicit StorageIndex(framework::Handle& handle);

  struct Terms {
    std::vector<cluster::CompiledTerm> any_of;
    cluster::SymbolLease symbols;
  };
  struct Volume {
    std::shared_ptr<const api::PersistentVolume> object;
    std::string class_name;

   private:
    friend class StorageIndex;
    std::optional<Terms> terms;  // of the node affinity
    std::optional<Expected<Terms>> migrated;
    std::optional<RowGroup> rows;
    std::uint64_t rows_generation = 0;
  };

  // Null if there is no such volume.
  Volume* Find(const std::string& name);
  // Unclaimed volumes of the class with at least this size, in ascending size.
  std::span<Volume* const> Free(const std::string& class_name, const api::Quantity& size) const;
  // Volumes whose claimRef refers to the claim, set by a user or a provisioner.
  std::span<Volume* const> BoundTo(const api::PersistentVolumeClaim& claim) const;

  // Whether the volume has no node affinity.
  static bool HasNoAffinity(const Volume& volume) { return !volume.object->node_affinity; }
  // Removes rows that the node affinity excludes. As in kube-scheduler, only labels are matched.
  void Restrict(Volume& volume, const framework::Attempt& attempt, RowSet& rows) const;
  // As Restrict, with the affinity translated for the CSI driver that replaces an in-tree volume plugin.
  Expected<void> RestrictMigrated(Volume& volume, const framework::Attempt& attempt, RowSet& rows) const;
  // The allowed rows; cached while no node's labels change.
  const RowGroup& RowsOf(Volume& volume, const framework::Attempt& attempt) const;

  // Removes rows that the class's allowedTopologies exclude.
  void Restrict(const api::StorageClass& storage_class, const framework::Attempt& attempt, RowSet& rows);

  struct Capacity {
    std::shared_ptr<const api::CSIStorageCapacity> object;

   private:
    friend class StorageIndex;
    cluster::CompiledTerm nodes;
    cluster::SymbolLease symbols;  // of nodes
    std::optional<RowGroup> rows;
    std::uint64_t rows_generation = 0;
  };
  // Valid until the next change.
  std::span<Capacity> Capacities(const std::string& class_name);
  // The nodes that it is for; cached while no node's labels change.
  const RowGroup& RowsOf(Capacity& capacity, const framework::Attempt& attempt) const;

 private:
  struct Topologies {
    std::vector<api::StorageClass::TopologyTerm> source;
    Terms terms;
  };
  void VolumeChanged(const ports::Change<api::PersistentVolume>& change);
  void CapacityChanged(const ports::Change<api::CSIStorageCapacity>& change);
  void AddToIndex(Volume& volume);
  void RemoveFromIndex(Volume& volume);
  Terms Compile(const api::NodeSelector& selector) const;
  // Refreshes the cached rows of a volume or a capacity: those that restrict(RowSet&) leaves of all.
  template <class Cached, class Restriction>
  static const RowGroup& CachedRows(Cached& cached, const framework::Attempt& attempt,
                                    Restriction&& restrict);
  // The object must have a node topology.
  Capacity Compile(std::shared_ptr<const api::CSIStorageCapacity> object) const;

  cluster::SymbolTable& words_;
  TextMap<Volume> volumes_;
  TextMap<std::vector<Volume*>> free_;      // by class; ascending size, then name
  TextMap<std::vector<Volume*>> bound_to_;  // by namespace/name of the claim
  TextMap<std::vector<Capacity>> capacities_;
  TextMap<Topologies> topologies_;
  const std::shared_ptr<const void> alive_ = std::make_shared<const char>();  // owner of the listeners
};

}  // namespace berth::plugins
