// What a decision evicts, and for whom; private to this module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kubernetes/ports/ports.hpp"

namespace berth::cycle {

// The pod, pod group or composite group for which others are evicted.
struct Preemptor {
  enum class Kind : std::uint8_t { kPod, kPodGroup, kCompositePodGroup };
  Kind kind = Kind::kPod;
  std::string uid;
  std::string key;  // namespace/name; of groups cluster::KeyOf
  std::string scheduler_name;
  std::int32_t priority = 0;
  ports::ObjectReference object;
  std::vector<std::string> pods;  // namespace/name; retried if no deletion event will follow

  std::string_view type() const {
    switch (kind) {
      case Kind::kPod:
        return "pod";
      case Kind::kPodGroup:
        return "podgroup";
      case Kind::kCompositePodGroup:
        return "compositepodgroup";
    }
    return "";
  }
};

// What to evict.
struct EvictionPlan {
  std::string plugin;  // that selected the victims
  std::string place;   // the node to which the pod is nominated; of groups "cluster"
  std::vector<api::PodPtr> victims;
  std::int64_t violations = 0;       // victims whose eviction violates a PodDisruptionBudget
  std::size_t disrupted_groups = 0;  // as in framework::GroupPostFilterResult
};

}  // namespace berth::cycle
