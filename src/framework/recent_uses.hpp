// What bound pods take, without working it out again for every pod of a workload.
#pragma once

#include <array>
#include <memory>

#include "api/objects.hpp"
#include "framework/pod_info.hpp"
#include "framework/vocabulary.hpp"

namespace berth::framework {

// UseOf with a memory. Pods of one workload that one decoder has read share their labels, containers and
// statuses as objects, so that a few pointers tell where to look, and comparing costs little. A fixed number
// of answers is kept: of those that fall on one place the ones that were asked for last. One thread.
class RecentUses {
 public:
  // The vocabulary outlives it.
  explicit RecentUses(Vocabulary& vocabulary) : vocabulary_(vocabulary) {}
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

  Vocabulary& vocabulary_;
  std::array<std::array<std::unique_ptr<Known>, kAtOnePlace>, kPlaces> known_;
};

}  // namespace berth::framework
