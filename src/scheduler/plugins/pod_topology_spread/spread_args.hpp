// PodTopologySpreadArgs (kubescheduler.config.k8s.io/v1).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kubernetes/api/pod.hpp"
#include "scheduler/framework/factory.hpp"

namespace berth::plugins {

// A default constraint as given in the configuration.
struct SpreadConstraintArgs {
  api::TopologySpreadConstraint constraint;
  std::vector<std::string> match_label_keys;
  std::optional<config::Value> label_selector;  // not allowed
};

struct PodTopologySpreadArgs {
  std::string defaulting_type = "System";
  std::vector<SpreadConstraintArgs> given;
  bool system_defaults = true;  // defaultingType: System
  // if system_defaults, those of kube-scheduler
  std::vector<api::TopologySpreadConstraint> default_constraints;
};

// Decoded strictly, defaulted and validated; error texts are kube-scheduler's.
Expected<PodTopologySpreadArgs> ParsePodTopologySpreadArgs(const framework::RawArgs& args);
config::ArgsCodec PodTopologySpreadArgsCodec();

}  // namespace berth::plugins
