// The requests that change a ResourceClaim. `version`: of resource.k8s.io, for example "v1beta1".
#pragma once

#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "kubernetes/ports/ports.hpp"

namespace berth::client {

// The path of the claim, or of its status.
std::string ClaimPath(const ports::ClaimChange& change, std::string_view version);
// The body of the patch (ports::ClaimChange), the same in all versions. `now` is the allocation's timestamp,
// if one is set.
std::string ClaimPatchBody(const ports::ClaimChange& change, WallTime now);
// The path for new claims of a namespace, and of one claim.
std::string ClaimsPath(const std::string& ns, std::string_view version);
std::string ClaimPath(const std::string& ns, const std::string& name, std::string_view version);
std::string NewClaimBody(const ports::NewClaim& claim, std::string_view version);

}  // namespace berth::client
