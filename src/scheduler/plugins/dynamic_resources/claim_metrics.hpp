// kube-scheduler's metrics of resource claims.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/plugins/dynamic_resources/pod_claims.hpp"

namespace berth::plugins {

// How a wait for binding conditions ended.
enum class WaitOutcome : std::uint8_t { kReady, kFailed, kTimeout, kError };

// A claim for extended resources was created, or could not be created.
void CountClaimCreation(const framework::Handle& handle, bool success);
// A pod waited for devices with binding conditions. Each device is one observation.
void ObserveWait(const framework::Handle& handle, const std::string& profile, const DevicesOfPod& pod,
                 WaitOutcome outcome, Duration waited);

}  // namespace berth::plugins
