// The requests that change a ResourceClaim.
#pragma once

#include <string>

#include "base/clock.hpp"
#include "kubernetes/ports/ports.hpp"

namespace berth::client {

// The path of the claim, or of its status.
std::string ClaimPath(const ports::ClaimChange& change);
// The body of the patch (ports::ClaimChange). `now` is the allocation's timestamp, if one is set.
std::string ClaimPatchBody(const ports::ClaimChange& change, WallTime now);
// The path for new claims of a namespace, and of one claim.
std::string ClaimsPath(const std::string& ns);
std::string ClaimPath(const std::string& ns, const std::string& name);
std::string NewClaimBody(const ports::NewClaim& claim);

}  // namespace berth::client
