// The scale subresource: `kubectl scale`.
#pragma once

#include "sandbox/apiserver/request.hpp"

namespace berth::sandbox {

// GET, PUT or PATCH of <resource>/<name>/scale; the autoscaling/v1 Scale as JSON.
ApiResult<std::string> AnswerScale(Verbs& verbs, const ApiRequest& request, const WriteOptions& options);

}  // namespace berth::sandbox
