// A cache for the resource use of bound pods, so that it is not computed for every pod of a workload.
#pragma once

#include <array>
#include <memory>

#include "kubernetes/api/objects.hpp"
#include "scheduler/cluster/pod_info.hpp"
#include "scheduler/cluster/symbol_table.hpp"

namespace berth::cluster {

// UseOf with a cache. Pods of one workload that were read by the same decoder share their labels, containers
// and statuses as objects; pointers therefore serve as the hash, and comparison is cheap. Set-associative
// with a fixed number of entries; the least recently used entry of a set is replaced. Scheduler loop only.
class PodUseCache {
 public:
  // The symbol table must outlive this object.
  explicit PodUseCache(SymbolTable& symbols) : symbols_(symbols) {}
  PodUseCache(const PodUseCache&) = delete;
  PodUseCache& operator=(const PodUseCache&) = delete;

  // Returns the same as UseOf(pod).
  PodUsePtr Of(const api::Pod& pod);
  // Removes the entries that no bound pod shares: they would keep the specifications of deleted pods.
  void ReleaseUnused();

 private:
  static constexpr std::size_t kSets = 512;
  static constexpr std::size_t kWays = 4;
  struct Entry {
    std::size_t hash;
    api::Pod like;  // the parts of the pod that the result depends on; keeps the shared objects alive
    PodUsePtr use;
  };

  SymbolTable& symbols_;
  std::array<std::array<std::unique_ptr<Entry>, kWays>, kSets> entries_;
};

}  // namespace berth::cluster
