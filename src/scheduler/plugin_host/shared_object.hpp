// A shared object in this process, and what it says of itself. Private to this module.
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

// What the library is about to do; told before it does it.
using TellStep = std::function<void(const char* step)>;

// Never unloaded: threads and destructors of a library may outlast any use of it. `tell` may be empty.
Expected<SharedObject> OpenSharedObject(const std::string& path, const TellStep& tell);

}  // namespace berth::plugin_host
