// What a kubelet writes into a pod's status.
#pragma once

#include <string>
#include <string_view>

#include "sandbox/store/document.hpp"

namespace berth::sandbox {

// The containers have started.
void SetRunning(json::object& pod, const std::string& now, const std::string& ip);
// They have ended, and will not start again: phase Succeeded or Failed.
void SetEnded(json::object& pod, const std::string& now, std::int64_t exit_code);
// They have failed and wait to be started again. Returns how often they have been restarted, this time
// included.
std::int64_t SetCrashed(json::object& pod, const std::string& now, std::int64_t exit_code);
void SetReady(json::object& pod, const std::string& now);

}  // namespace berth::sandbox
