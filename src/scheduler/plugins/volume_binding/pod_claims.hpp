// The cycle state of VolumeBinding: the pod's claims, and for claims that wait for a consumer their options
// per node.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kubernetes/api/storage.hpp"
#include "scheduler/plugins/volume_binding/storage_index.hpp"

namespace berth::plugins {

using VolumePtr = std::shared_ptr<const api::PersistentVolume>;
using ClaimPtr = std::shared_ptr<const api::PersistentVolumeClaim>;

// An unbound claim whose storage class has the binding mode WaitForFirstConsumer.
struct DelayedClaim {
  ClaimPtr claim;
  std::string class_name;
  // The node selected by an earlier attempt, from the annotation: the volume must be provisioned there.
  bool node_selected = false;
  cluster::NodeNameId selected_node;
  bool listed_again = false;  // a later entry of the pod is the same claim

  // By row, set by Filter.
  RowSet matched;                              // an existing volume matches
  std::vector<StorageIndex::Volume*> volumes;  // that volume; empty: no row has one
  // Capacity for provisioning, where it is tracked; else kUntracked. Shared by equal claims; null: it does
  // not matter.
  std::shared_ptr<const std::vector<std::int64_t>> capacity;
  static constexpr std::int64_t kUntracked = -1;
};

// The objects that Reserve assumed and PreBind writes.
struct BindingPlan {
  struct Binding {
    VolumePtr volume;  // with the claim reference set
    ClaimPtr claim;
    bool changed = false;  // the volume must be written
  };
  std::vector<Binding> bindings;
  std::vector<ClaimPtr> provisions;  // with the selected-node annotation
};

struct PodClaims {
  std::vector<ClaimPtr> bound;        // each once
  std::vector<DelayedClaim> delayed;  // those with a selected node first, then by size
  bool filtered = false;
  bool all_bound = false;  // Reserve and later steps have nothing to do
  BindingPlan plan;
};

}  // namespace berth::plugins
