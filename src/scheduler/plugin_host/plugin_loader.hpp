// Shared objects with plugins (scheduler/plugin_host/berth_plugin.h), loaded at run time.
#pragma once

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "scheduler/framework/factory.hpp"

namespace berth::plugin_host {

struct LoadOptions {
  // How long the library may take to be loaded and to describe itself, in the process that tries it out.
  Duration deadline = std::chrono::seconds(10);
};

struct LoadedPlugin {
  std::string name;
  std::string version;  // as its author calls it; may be empty
  framework::Factory factory;
};

struct LoadedLibrary {
  std::string path;  // absolute
  std::vector<LoadedPlugin> plugins;
  std::vector<std::string> notes;  // for the log
};

// Loads the library for as long as this process lives. Before that a child process does the same; what ends
// it, or keeps it beyond the deadline, is an error here, and so is everything that is wrong with what the
// library says of itself. Errors name the file. To be called before this process has threads: the child is a
// fork.
Expected<LoadedLibrary> Load(const std::string& path, const LoadOptions& options = {});

}  // namespace berth::plugin_host
