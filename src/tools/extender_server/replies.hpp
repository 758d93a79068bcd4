// Responses of an extender (k8s.io/kube-scheduler/extender/v1), encoded as by Go.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/extender_server/evaluator.hpp"
#include "tools/extender_server/requests.hpp"

namespace berth::extender_server {

// In the form of the request: names for names, or the nodes exactly as they were sent.
std::string FilterResponse(const NodesRequest& request, const FilterVerdict& verdict);
std::string PrioritizeResponse(const NodesRequest& request, std::span<const std::int64_t> scores);
// Always with UIDs, whatever the form of the request.
std::string PreemptResponse(const PreemptRequest& request, std::span<const std::size_t> kept);
// An empty error: bound.
std::string BindResponse(std::string_view error);

}  // namespace berth::extender_server
