// Reviews: objects that are questions and come back with an answer (may I? who am I? whose token is this?).
#pragma once

#include "sandbox/apiserver/auth/policy.hpp"
#include "sandbox/apiserver/request.hpp"

namespace berth::sandbox {

bool IsReview(const ApiRequest& request);

// The review with its status, as JSON. `policy` may be null: everything is allowed then, and there are no
// tokens.
ApiResult<std::string> AnswerReview(const ApiRequest& request, const Policy* policy);

}  // namespace berth::sandbox
