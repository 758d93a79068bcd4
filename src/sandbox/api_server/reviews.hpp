// Questions about who may do what. Here everybody may do everything; what matters is that the questions are
// answered.
#pragma once

#include <optional>
#include <string_view>

#include "sandbox/api_server/request.hpp"

namespace berth::sandbox {

// True for POST /apis/authentication.k8s.io/v1/... and /apis/authorization.k8s.io/v1/...
bool IsReview(const ApiRequest& request);
// The review with its status, as JSON.
ApiResult<std::string> AnswerReview(const ApiRequest& request);

}  // namespace berth::sandbox
