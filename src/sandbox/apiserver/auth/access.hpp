// Authentication and authorization of requests.
#pragma once

#include "sandbox/apiserver/auth/policy.hpp"
#include "sandbox/apiserver/request.hpp"

namespace berth::sandbox {

// The user of the request: from a client certificate, a bearer token, or anonymous. Impersonation (kubectl
// --as) requires membership in system:masters. Without a policy unknown credentials are ignored. 401 for
// unknown certificates and tokens, and for a request without credentials if the policy requires them.
ApiResult<User> Authenticate(const Policy* policy, const http::Request& request);

// 403 if the policy denies the request. Requires a resolved request (ResolveResource), except for discovery,
// reviews and metrics.
ApiResult<> Authorize(const Policy& policy, const ApiRequest& request);

// The attributes of a request, for reviews and for Authorize.
Attributes AttributesOf(const ApiRequest& request);

}  // namespace berth::sandbox
