// Access, subject and token reviews: objects that are answered and not stored.
#pragma once

#include "sandbox/apiserver/auth/policy.hpp"
#include "sandbox/apiserver/request.hpp"

namespace berth::sandbox {

bool IsReview(const ApiRequest& request);
// True for a review of the request's own user, which is always allowed.
bool IsSelfReview(const ApiRequest& request);

// The review with its status, as JSON. With a null `policy` everything is allowed and there are no tokens.
ApiResult<std::string> AnswerReview(const ApiRequest& request, const Policy* policy);

}  // namespace berth::sandbox
