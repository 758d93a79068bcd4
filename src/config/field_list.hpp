// Every field of a configuration file, as its readers know them.
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

// Of KubeSchedulerConfiguration, kubescheduler.config.k8s.io/v1, in the order in which it is read; without
// the arguments of plugins.
std::vector<FieldFact> FieldsOfConfiguration();
// Of a plugin's arguments, without kind and apiVersion.
std::vector<FieldFact> FieldsOf(const ArgsCodec& codec);

}  // namespace berth::config
