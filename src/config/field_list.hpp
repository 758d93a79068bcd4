// Lists all fields of a configuration file, derived from the readers.
#pragma once

#include <string>
#include <vector>

#include "config/args_codec.hpp"

namespace berth::config {

struct FieldFact {
  std::string path;          // "leaderElection.leaseDuration", "profiles[].schedulerName"
  std::string type;          // Go's: "int32", "[]string", "v1.ScoringStrategy"; empty: any
  std::string default_json;  // empty: none
};

// The fields of KubeSchedulerConfiguration, kubescheduler.config.k8s.io/v1, in reading order; without plugin
// arguments.
std::vector<FieldFact> FieldsOfConfiguration();
// The fields of a plugin's arguments, without kind and apiVersion.
std::vector<FieldFact> FieldsOf(const ArgsCodec& codec);

}  // namespace berth::config
