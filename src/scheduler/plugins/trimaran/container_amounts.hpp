// CPU and memory amounts of pods as the Trimaran plugins compute them: rounded up per container, without
// pod-level resources.
#pragma once

#include <cstdint>

#include "kubernetes/api/pod.hpp"

namespace berth::plugins {

struct CpuAndMemory {
  std::int64_t milli_cpu = 0;
  std::int64_t memory = 0;  // bytes
  friend bool operator==(const CpuAndMemory&, const CpuAndMemory&) = default;
};

// The sum over the containers, or the amount of the largest init container (sidecars included) if that is
// more; plus the overhead.
CpuAndMemory EffectiveRequests(const api::Pod& pod);
CpuAndMemory EffectiveLimits(const api::Pod& pod);

}  // namespace berth::plugins
