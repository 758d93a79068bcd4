// The status fields of a pod that a kubelet writes.
#pragma once

#include <string>
#include <string_view>

#include "sandbox/store/document.hpp"

namespace berth::sandbox {

// The containers cannot be created yet: they wait in ContainerCreating. Changes nothing if they do already.
void SetCreating(json::object& pod, const std::string& now);
// The containers have started.
void SetRunning(json::object& pod, const std::string& now, const std::string& ip);
// The containers have ended and are not restarted: phase Succeeded or Failed.
void SetEnded(json::object& pod, const std::string& now, std::int64_t exit_code);
// The containers have failed and wait for a restart. Returns the number of restarts, including this one.
std::int64_t SetCrashed(json::object& pod, const std::string& now, std::int64_t exit_code);
// True if the pod is not Ready although its containers are, because its node was not Ready.
bool HasLostReadiness(const json::object& pod);
void SetReady(json::object& pod, const std::string& now);

}  // namespace berth::sandbox
