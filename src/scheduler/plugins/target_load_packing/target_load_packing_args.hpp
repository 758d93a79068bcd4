// Arguments of TargetLoadPacking, as in scheduler-plugins v0.33.5.
#pragma once

#include <cstdint>

#include "scheduler/plugins/trimaran/trimaran_args.hpp"

namespace berth::plugins {

struct TargetLoadPackingArgs {
  TrimaranArgs trimaran;
  // Usage of a container without CPU request and limit.
  std::int64_t default_request_milli_cpu = 1000;
  // The usage of a container without CPU limit is its request times this number.
  double request_multiplier = 1.5;
  std::int64_t target_utilization = 40;  // percent, 1 to 100
};

Expected<TargetLoadPackingArgs> ParseTargetLoadPackingArgs(const framework::RawArgs& raw);
config::ArgsCodec TargetLoadPackingArgsCodec();

}  // namespace berth::plugins
