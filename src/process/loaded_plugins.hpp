// The plugins of --berth-plugin.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "scheduler/runtime/registry.hpp"

namespace CLI {
class App;
}

namespace berth::process {

// `plugins` and those of the libraries, which may not have the names of others. `notes` receives what should
// be in the log. Before this process has threads.
Expected<runtime::Registry> WithLoadedPlugins(const runtime::Registry& plugins,
                                              const std::vector<std::string>& libraries,
                                              std::vector<std::string>& notes);

// The flag, for commands that read a configuration.
void AddPluginFlag(CLI::App& app, std::vector<std::string>& libraries);

}  // namespace berth::process
