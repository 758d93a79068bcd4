// The nominated pods of an attempt, for plugins that count them beyond their nodes.
#pragma once

#include <span>

#include "scheduler/framework/attempt.hpp"

namespace berth::framework {

// A pod that is nominated to a node and not bound.
struct Nomination {
  cluster::Row row = cluster::kNoRow;  // kNoRow: the node does not exist
  const cluster::PodInfo* pod = nullptr;
};

// Attempt::Buffer of this key: all nominated pods, the attempt's own pod included, in no defined order. Set
// before PreFilter and valid until the attempt ends.
inline constexpr BufferKey<std::span<const Nomination>> kNominations{0};

}  // namespace berth::framework
