// What a scheduler's command line and configuration file mean to Berth.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/scheduler_config.hpp"
#include "tools/migrate/findings.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth::migrate {

// What a scheduler is started with.
struct SchedulerSetup {
  std::vector<std::string> args;           // its command line
  std::string config;                      // the file, as it is called here; empty: none
  std::optional<std::string> config_text;  // what is in it, if it is no file here
  std::string kubeconfig;                  // for a Policy in a ConfigMap, which its command line may name
};

struct CheckedConfiguration {
  // Nothing if it does not load.
  std::optional<config::SchedulerConfig> config;
  Findings findings;
};

// The file that a command line names; empty: none, or the command line is wrong.
std::string ConfigNamedBy(const std::vector<std::string>& args);

// Finds what `berth scheduler` would find wrong at its start, with its texts; plugins that do not exist, each
// with what is nearest; and the differences of docs/differences.md that concern this configuration, with the
// switch that brings the original's behaviour back. Asks the API server for nothing but the Policy that a
// command line of old may name.
CheckedConfiguration CheckConfiguration(const SchedulerSetup& setup, const runtime::Registry& plugins);

}  // namespace berth::migrate
