// What a loaded library says of itself, checked: nothing of it is called before this has passed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "scheduler/plugin_host/berth_plugin.h"

namespace berth::plugin_host {

// An error if a library of this version (berth_plugin_version) cannot be understood; its minor version may be
// newer.
Expected<void> CheckVersion(std::uint32_t version);

// The tables of its plugins, in this program's own form: members that the library does not have are null,
// those that this program does not know are left out. Errors name plugin and member. Texts and functions stay
// the library's.
Expected<std::vector<berth_plugin>> ReadLibrary(const berth_library* library);

}  // namespace berth::plugin_host
