// Authentication and authorization of requests.
#pragma once

#include "sandbox/apiserver/auth/policy.hpp"
#include "sandbox/apiserver/request.hpp"

namespace berth::sandbox {

// Who asks: by client certificate, bearer token, or nobody in particular; impersonation (kubectl --as) is
// open to members of system:masters. Without a policy credentials that mean nothing are not looked at. 401
// for certificates and tokens that are not known, and for none where the policy wants some.
ApiResult<User> Authenticate(const Policy* policy, const http::Request& request);

// 403 if the policy says so. The request must have been resolved.
ApiResult<> Authorize(const Policy& policy, const ApiRequest& request);

// What a request is about, for reviews and for Authorize.
Attributes AttributesOf(const ApiRequest& request);

}  // namespace berth::sandbox
