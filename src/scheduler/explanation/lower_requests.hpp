// Requests lowered to what a node has.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kubernetes/api/pod.hpp"
#include "scheduler/explanation/resources.hpp"

namespace berth::explanation {

struct LoweredRequests {
  std::string text;  // "lower the cpu request from 8 to 6", without the pod's overhead
  std::function<void(api::Pod&)> apply;
};

// nullopt: a shortage cannot be removed this way, because nothing is free or the number of pods is exhausted.
// The largest containers are lowered first. Unusual pods may still not fit afterwards.
std::optional<LoweredRequests> LowerRequests(const api::Pod& pod, const std::vector<Shortage>& shortages);

}  // namespace berth::explanation
