// `berth simulate`: runs a workload on virtual time and prints a report.
#pragma once

#include <span>
#include <string>

#include "scheduler/runtime/registry.hpp"

namespace berth::command {

int RunSimulateCommand(std::span<const std::string> args, const runtime::Registry& plugins);

}  // namespace berth::command
