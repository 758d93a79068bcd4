// Evaluates the CEL expressions by which claims and classes select devices.
#pragma once

#include <memory>

#include "scheduler/devices/allocator.hpp"

namespace berth::plugins {

// Compiled expressions and their results by device shape are cached, within limits. Scheduler loop only.
// `hides_sharing`: device.allowMultipleAllocations is false for all devices, as in the scores of
// kube-scheduler.
std::unique_ptr<devices::SelectorEvaluator> MakeDeviceSelectors(bool hides_sharing = false);

}  // namespace berth::plugins
