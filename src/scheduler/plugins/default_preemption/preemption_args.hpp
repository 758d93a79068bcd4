// DefaultPreemptionArgs (kubescheduler.config.k8s.io/v1), and PreemptionTolerationArgs of scheduler-plugins,
// which have the same fields.
#pragma once

#include <cstdint>

#include "scheduler/framework/factory.hpp"

namespace berth::plugins {

struct DefaultPreemptionArgs {
  std::int64_t min_candidate_nodes_percentage = 10;
  std::int64_t min_candidate_nodes_absolute = 100;

  // The number of candidates to find among this number of potential nodes.
  std::size_t Wanted(std::size_t nodes) const;
};

// Decoded strictly, defaulted and validated. Error texts are kube-scheduler's.
Expected<DefaultPreemptionArgs> ParseDefaultPreemptionArgs(const framework::RawArgs& raw);
config::ArgsCodec DefaultPreemptionArgsCodec();
// The same for PreemptionTolerationArgs.
Expected<DefaultPreemptionArgs> ParsePreemptionTolerationArgs(const framework::RawArgs& raw);
config::ArgsCodec PreemptionTolerationArgsCodec();

}  // namespace berth::plugins
