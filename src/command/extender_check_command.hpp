// `berth extender check`.
#pragma once

#include <span>
#include <string>

namespace berth::command {

int RunExtenderCheckCommand(std::span<const std::string> args);

}  // namespace berth::command
