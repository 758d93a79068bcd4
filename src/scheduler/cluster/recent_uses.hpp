// What bound pods take, without working it out again for every pod of a workload.
#pragma once

#include <array>
#include <memory>

#include "kubernetes/api/objects.hpp"
#include "scheduler/cluster/pod_info.hpp"
#include "scheduler/cluster/symbol_table.hpp"

namespace berth::cluster {

// UseOf with a memory. Pods of one workload that one decoder has read share their labels, containers and
// statuses as objects, so that a few pointers tell where to look, and comparing costs little. A fixed number
// of answers is kept: of those that fall on one place the ones that were asked for last. One thread.
class RecentUses {
 public:
  // The symbols outlives it.
  explicit RecentUses(SymbolTable& symbols) : symbols_(symbols) {}
  RecentUses(const RecentUses&) = delete;
  RecentUses& operator=(const RecentUses&) = delete;

  // What UseOf(pod) would answer.
  PodUsePtr Of(const api::Pod& pod);

 private:
  static constexpr std::size_t kPlaces = 512;
  static constexpr std::size_t kAtOnePlace = 4;
  struct Known {
    std::size_t hash;
    api::Pod like;  // what the answer depends on is that of the pod; it holds the shared parts
    PodUsePtr use;
  };

  SymbolTable& symbols_;
  std::array<std::array<std::unique_ptr<Known>, kAtOnePlace>, kPlaces> known_;
};

}  // namespace berth::cluster
