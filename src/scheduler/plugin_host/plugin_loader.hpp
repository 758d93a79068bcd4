// Shared objects with plugins (scheduler/plugin_host/berth_plugin.h), loaded at run time.
#pragma once

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "scheduler/framework/factory.hpp"

namespace berth::plugin_host {

struct LoadOptions {
  // Time limit for loading and describing the library in the child process.
  Duration deadline = std::chrono::seconds(10);
};

struct LoadedPlugin {
  std::string name;
  std::string version;  // the author's version; may be empty
  framework::Factory factory;
  std::vector<std::string> annotations;  // keys of the annotations that it reads
};

struct LoadedLibrary {
  std::string path;  // absolute
  std::vector<LoadedPlugin> plugins;
  std::vector<std::string> notes;  // for the log
};

// Loads a library for the lifetime of this process. A child process (a fork) loads it first: if the child
// crashes, exits or exceeds the deadline, or if the description is invalid, the result is an error. Errors
// name the file. Must be called while this process has only one thread.
Expected<LoadedLibrary> Load(const std::string& path, const LoadOptions& options = {});

}  // namespace berth::plugin_host
