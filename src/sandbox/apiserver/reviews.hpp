// Access, subject and token reviews: objects that are answered and not stored.
#pragma once

#include "sandbox/apiserver/auth/policy.hpp"
#include "sandbox/apiserver/request.hpp"

namespace berth::sandbox {

bool IsReview(const ApiRequest& request);
// True for a review about the user who asks: everybody may know that.
bool IsSelfReview(const ApiRequest& request);

// The review with its status, as JSON. With a null `policy` everything is allowed and there are no tokens.
ApiResult<std::string> AnswerReview(const ApiRequest& request, const Policy* policy);

}  // namespace berth::sandbox
