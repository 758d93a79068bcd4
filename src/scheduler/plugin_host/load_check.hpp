// A shared object tried out in a process of its own. Private to this module.
#pragma once

#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace berth::plugin_host {

// An error says what is wrong with the library or what became of the process, and in which step.
Expected<void> TryOut(const std::string& path, Duration deadline);

}  // namespace berth::plugin_host
