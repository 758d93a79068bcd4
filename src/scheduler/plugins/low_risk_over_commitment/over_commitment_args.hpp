// Arguments of LowRiskOverCommitment, as in scheduler-plugins v0.33.5.
#pragma once

#include <cstdint>

#include "scheduler/plugins/trimaran/trimaran_args.hpp"

namespace berth::plugins {

struct OverCommitmentArgs {
  TrimaranArgs trimaran;
  std::int64_t smoothing_window = 5;  // smoothingWindowSize
  // riskLimitWeights: 0 to 1, the weight of limits against measured load.
  double cpu_limit_weight = 0.5;
  double memory_limit_weight = 0.5;
};

Expected<OverCommitmentArgs> ParseOverCommitmentArgs(const framework::RawArgs& raw);
config::ArgsCodec OverCommitmentArgsCodec();

}  // namespace berth::plugins
