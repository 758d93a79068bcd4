// The plugins of --berth-plugin.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "command_line/flag_set.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth::process {

// `plugins` and the plugins of the libraries, which must have other names. `notes` receives lines for the
// log. Must be called before this process has other threads.
Expected<runtime::Registry> WithLoadedPlugins(const runtime::Registry& plugins,
                                              const std::vector<std::string>& libraries,
                                              std::vector<std::string>& notes);

// Adds the flag, for commands that read a configuration.
void AddPluginFlag(command_line::FlagSet& flags, std::vector<std::string>& libraries);

}  // namespace berth::process
