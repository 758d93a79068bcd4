// PodTopologySpreadArgs (kubescheduler.config.k8s.io/v1).
#pragma once

#include <vector>

#include "api/pod.hpp"
#include "framework/factory.hpp"

namespace berth::plugins {

struct PodTopologySpreadArgs {
  bool system_defaults = true;                                     // defaultingType: System
  std::vector<api::TopologySpreadConstraint> default_constraints;  // the system's, if system_defaults
};

// Read strictly, defaulted and validated; errors are kube-scheduler's texts.
Expected<PodTopologySpreadArgs> ParsePodTopologySpreadArgs(const framework::RawArgs& args);

}  // namespace berth::plugins
