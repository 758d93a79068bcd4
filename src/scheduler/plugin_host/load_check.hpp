// Loads a shared object in a child process first. Private to this module.
#pragma once

#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace berth::plugin_host {

// The error describes the library's problem, or the end of the child process and the step in which it
// occurred.
Expected<void> LoadInChildProcess(const std::string& path, Duration deadline);

}  // namespace berth::plugin_host
