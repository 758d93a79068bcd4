#include "scheduler/cluster/pod_info.hpp"

namespace berth::cluster {

std::int64_t Amounts::Of(ResourceId resource) const {
  if (resource == kCpu) return milli_cpu;
  if (resource == kMemory) return memory;
  if (resource == kEphemeralStorage) return ephemeral_storage;
  for (const auto& [id, value] : scalars) {
    if (id == resource) return value;
  }
  return 0;
}

}  // namespace berth::cluster
