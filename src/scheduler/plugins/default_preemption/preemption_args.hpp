// DefaultPreemptionArgs (kubescheduler.config.k8s.io/v1).
#pragma once

#include <cstdint>

#include "scheduler/framework/factory.hpp"

namespace berth::plugins {

struct DefaultPreemptionArgs {
  std::int64_t min_candidate_nodes_percentage = 10;
  std::int64_t min_candidate_nodes_absolute = 100;

  // How many candidates are wanted of so many nodes that may become some.
  std::size_t Wanted(std::size_t nodes) const;
};

// Read strictly, defaulted and validated. Errors are kube-scheduler's texts.
Expected<DefaultPreemptionArgs> ParseDefaultPreemptionArgs(const framework::RawArgs& raw);
config::ArgsCodec DefaultPreemptionArgsCodec();

}  // namespace berth::plugins
