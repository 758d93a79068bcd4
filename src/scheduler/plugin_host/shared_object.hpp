// A shared object loaded into this process, and its description. Private to this module.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "scheduler/plugin_host/berth_plugin.h"

namespace berth::plugin_host {

struct SharedObject {
  std::uint32_t version = 0;
  std::vector<berth_plugin> plugins;
};

// Called before each step of loading, with its name.
using StepCallback = std::function<void(const char* step)>;

// Loads a library without ever unloading it: its threads and destructors may outlive all uses. `on_step` may
// be empty.
Expected<SharedObject> OpenSharedObject(const std::string& path, const StepCallback& on_step);

}  // namespace berth::plugin_host
