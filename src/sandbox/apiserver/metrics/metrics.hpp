// metrics.k8s.io/v1beta1: what kubectl top asks for. Simulated containers use exactly what they request,
// those that request nothing a little, and nodes a little more than their pods.
#pragma once

#include <string>

#include "sandbox/apiserver/request.hpp"

namespace berth::sandbox {

bool IsMetrics(const ApiRequest& request);
// NodeMetrics, PodMetrics or a list of them, as JSON.
ApiResult<std::string> AnswerMetrics(Verbs& verbs, ApiRequest& request);

}  // namespace berth::sandbox
