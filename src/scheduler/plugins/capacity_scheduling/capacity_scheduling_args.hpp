// Arguments of CapacityScheduling.
//
//   hierarchy: Koordinator  # a tree of quotas; default: quotas of namespaces, as in scheduler-plugins
#pragma once

#include <cstdint>

#include "scheduler/framework/factory.hpp"

namespace berth::plugins {

struct CapacitySchedulingArgs {
  enum class Hierarchy : std::uint8_t { kNone, kKoordinator };
  Hierarchy hierarchy = Hierarchy::kNone;
};

Expected<CapacitySchedulingArgs> ParseCapacitySchedulingArgs(const framework::RawArgs& args);
config::ArgsCodec CapacitySchedulingArgsCodec();

}  // namespace berth::plugins
