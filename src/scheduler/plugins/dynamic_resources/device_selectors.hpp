// Evaluates the CEL expressions by which claims and classes select devices.
#pragma once

#include <memory>

#include "scheduler/devices/allocator.hpp"

namespace berth::plugins {

// Compiled expressions and their results by device shape are cached, within limits. Scheduler loop only.
std::unique_ptr<devices::SelectorEvaluator> MakeDeviceSelectors();

}  // namespace berth::plugins
