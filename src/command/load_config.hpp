// The scheduler configuration of a command line.
#pragma once

#include <string>

#include "assembly/in_tree_plugins.hpp"
#include "command/files.hpp"
#include "config/scheduler_config.hpp"

namespace berth::command {

// Reads a configuration of any version. The arguments of plugins are completed and checked.
inline Expected<config::SchedulerConfig> ReadConfig(const std::string& text,
                                                    const config::FeatureGates& gates = {}) {
  const runtime::Registry registry = assembly::InTreePlugins();
  return config::ParseSchedulerConfig(
      text, config::ParseOptions{.gates = gates, .codecs = &registry.codecs(), .read_file = ReadWholeFile});
}

// The same from a file; without one the defaults. Errors begin with the file's name.
inline Expected<config::SchedulerConfig> LoadConfig(const std::string& path,
                                                    const config::FeatureGates& gates = {}) {
  if (path.empty()) {
    const runtime::Registry registry = assembly::InTreePlugins();
    return config::DefaultSchedulerConfig(gates, &registry.codecs());
  }
  BERTH_TRY(const std::string text, ReadWholeFile(path));
  auto config = ReadConfig(text, gates);
  if (!config) return std::unexpected(std::move(config).error().In(path));
  return config;
}

}  // namespace berth::command
