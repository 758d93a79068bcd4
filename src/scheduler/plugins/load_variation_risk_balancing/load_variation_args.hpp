// Arguments of LoadVariationRiskBalancing, as in scheduler-plugins v0.33.5.
#pragma once

#include "scheduler/plugins/trimaran/trimaran_args.hpp"

namespace berth::plugins {

struct LoadVariationArgs {
  TrimaranArgs trimaran;
  double margin = 1;       // safeVarianceMargin: factor of the standard deviation
  double sensitivity = 1;  // safeVarianceSensitivity: root of the standard deviation
};

Expected<LoadVariationArgs> ParseLoadVariationArgs(const framework::RawArgs& raw);
config::ArgsCodec LoadVariationArgsCodec();

}  // namespace berth::plugins
