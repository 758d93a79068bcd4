// Validation of a loaded library's description. Must succeed before any function of its plugins is called.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "scheduler/plugin_host/berth_plugin.h"

namespace berth::plugin_host {

// Returns an error if a library of this version (berth_plugin_version) is incompatible. A newer minor version
// is compatible.
Expected<void> CheckVersion(std::uint32_t version);

// Returns the plugins' tables in this program's layout: members that the library lacks are null, members
// unknown to this program are dropped. Errors name the plugin and the member. Strings and functions remain
// the library's.
Expected<std::vector<berth_plugin>> ReadLibrary(const berth_library* library);

}  // namespace berth::plugin_host
