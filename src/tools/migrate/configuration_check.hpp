// Checks a scheduler's command line and configuration file for use with Berth.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/scheduler_config.hpp"
#include "scheduler/runtime/registry.hpp"
#include "tools/migrate/findings.hpp"

namespace berth::migrate {

// The start-up parameters of a scheduler.
struct SchedulerSetup {
  std::vector<std::string> args;           // its command line
  std::string config;                      // the file's name on this machine; empty: none
  std::optional<std::string> config_text;  // its content, if there is no such file here
  std::string kubeconfig;                  // to read a Policy from a ConfigMap that the command line names
};

struct CheckedConfiguration {
  // nullopt if it does not load.
  std::optional<config::SchedulerConfig> config;
  // That its plugins read beside those of every scheduler: "podgroups.scheduling.x-k8s.io".
  std::vector<std::string> requested_resources;
  Findings findings;
};

// The file that a command line names; empty: none, or the command line is invalid.
std::string ConfigNamedBy(const std::vector<std::string>& args);

// Reports the errors of `berth scheduler` at its start, with their texts; unknown plugins, each with the
// closest replacement; and the differences of docs/differences.md that affect this configuration, with the
// option that restores kube-scheduler's behaviour. The only request to the API server is for a Policy that an
// old command line may name.
CheckedConfiguration CheckConfiguration(const SchedulerSetup& setup, const runtime::Registry& plugins);

}  // namespace berth::migrate
