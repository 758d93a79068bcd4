// What VolumeBinding remembers of one attempt: the pod's claims, and for those that wait for a node what each
// node would give them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/plugins/volume_binding/storage_index.hpp"

namespace berth::plugins {

using VolumePtr = std::shared_ptr<const api::PersistentVolume>;
using ClaimPtr = std::shared_ptr<const api::PersistentVolumeClaim>;

// An unbound claim whose class waits for its first consumer.
struct DelayedClaim {
  ClaimPtr claim;
  std::string class_name;
  // The node that was selected for it before, by its annotation: there the volume is to be made.
  bool node_selected = false;
  cluster::NodeNameId selected_node;

  // By row, once Filter has judged it.
  RowSet matched;                              // a volume that exists will do
  std::vector<StorageIndex::Volume*> volumes;  // that one
  std::vector<std::int64_t>
      capacity;  // where it would be made, if that is tracked; kUntracked; empty: nowhere
  static constexpr std::int64_t kUntracked = -1;
};

// What was assumed for the pod and is to be written.
struct BindingPlan {
  struct Binding {
    VolumePtr volume;  // as it shall be
    ClaimPtr claim;
    bool changed = false;  // the volume is not as it shall be already
  };
  std::vector<Binding> bindings;
  std::vector<ClaimPtr> provisions;  // with the node selected
};

struct PodClaims {
  std::vector<ClaimPtr> bound;
  std::vector<DelayedClaim> delayed;  // the node-selected ones first, then by size
  bool filtered = false;
  bool all_bound = false;  // nothing is left to do for Reserve and what follows
  BindingPlan plan;
};

}  // namespace berth::plugins
