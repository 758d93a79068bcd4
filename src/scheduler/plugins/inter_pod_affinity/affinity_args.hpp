// InterPodAffinityArgs (kubescheduler.config.k8s.io/v1).
#pragma once

#include <cstdint>

#include "scheduler/framework/factory.hpp"

namespace berth::plugins {

struct InterPodAffinityArgs {
  std::int64_t hard_pod_affinity_weight = 1;
  bool ignore_preferred_terms_of_existing_pods = false;
};

// Decoded strictly, defaulted and validated; error texts are kube-scheduler's.
Expected<InterPodAffinityArgs> ParseInterPodAffinityArgs(const framework::RawArgs& args);
config::ArgsCodec InterPodAffinityArgsCodec();

}  // namespace berth::plugins
