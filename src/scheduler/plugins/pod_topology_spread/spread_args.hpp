// PodTopologySpreadArgs (kubescheduler.config.k8s.io/v1).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kubernetes/api/pod.hpp"
#include "scheduler/framework/factory.hpp"

namespace berth::plugins {

// A default constraint as it stands in the file.
struct SpreadConstraintArgs {
  api::TopologySpreadConstraint constraint;
  std::vector<std::string> match_label_keys;
  std::optional<config::Value> label_selector;  // forbidden
};

struct PodTopologySpreadArgs {
  std::string defaulting_type = "System";
  std::vector<SpreadConstraintArgs> given;
  bool system_defaults = true;                                     // defaultingType: System
  std::vector<api::TopologySpreadConstraint> default_constraints;  // the system's, if system_defaults
};

// Read strictly, defaulted and validated; errors are kube-scheduler's texts.
Expected<PodTopologySpreadArgs> ParsePodTopologySpreadArgs(const framework::RawArgs& args);
config::ArgsCodec PodTopologySpreadArgsCodec();

}  // namespace berth::plugins
