// metrics.k8s.io/v1beta1, for kubectl top. Simulated usage: a container uses exactly its requests (without
// requests a small amount), a node slightly more than its pods.
#pragma once

#include <string>

#include "sandbox/apiserver/request.hpp"

namespace berth::sandbox {

bool IsMetrics(const ApiRequest& request);
// NodeMetrics, PodMetrics or a list of them, as JSON.
ApiResult<std::string> AnswerMetrics(Verbs& verbs, ApiRequest& request);

}  // namespace berth::sandbox
