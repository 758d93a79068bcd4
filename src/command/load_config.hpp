// The scheduler configuration of a command line.
#pragma once

#include <string>

#include "assembly/in_tree_plugins.hpp"
#include "command/files.hpp"
#include "config/scheduler_config.hpp"

namespace berth::command {

// Without a file the defaults. The arguments of plugins are completed and checked. Errors begin with the
// file's name.
inline Expected<config::SchedulerConfig> LoadConfig(const std::string& path,
                                                    const config::FeatureGates& gates = {}) {
  const runtime::Registry registry = assembly::InTreePlugins();
  if (path.empty()) return config::DefaultSchedulerConfig(gates, &registry.codecs());
  BERTH_TRY(const std::string text, ReadWholeFile(path));
  auto config = config::ParseSchedulerConfig(
      text, config::ParseOptions{.gates = gates, .codecs = &registry.codecs(), .read_file = ReadWholeFile});
  if (!config) return std::unexpected(std::move(config).error().In(path));
  return config;
}

}  // namespace berth::command
