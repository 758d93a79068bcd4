// The scheduler configuration of a command line.
#pragma once

#include <string>

#include "command/files.hpp"
#include "config/scheduler_config.hpp"

namespace berth::command {

// Without a file the defaults. Errors begin with the file's name.
inline Expected<config::SchedulerConfig> LoadConfig(const std::string& path,
                                                    const config::FeatureGates& gates = {}) {
  if (path.empty()) return config::DefaultSchedulerConfig(gates);
  BERTH_TRY(const std::string text, ReadWholeFile(path));
  auto config = config::ParseSchedulerConfig(text, gates);
  if (!config) return std::unexpected(std::move(config).error().In(path));
  return config;
}

}  // namespace berth::command
