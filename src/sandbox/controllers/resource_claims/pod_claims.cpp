#include "sandbox/controllers/resource_claims/pod_claims.hpp"

#include <algorithm>

#include "sandbox/controllers/fields.hpp"

namespace berth::sandbox {
namespace {

// The claim that the controller has recorded for an entry with a template.
std::optional<std::string> RecordedClaim(const json::object& pod, std::string_view name) {
  for (const auto& status : ArrayOrEmpty(pod, "status.resourceClaimStatuses")) {
    if (status.is_object() && FindString(status.get_object(), "name") == name)
      return std::string(FindString(status.get_object(), "resourceClaimName"));
  }
  return std::nullopt;
}

}  // namespace

bool MayUseClaims(const Object& pod) {
  return pod.text.find("\"resourceClaims\":[{") != std::string::npos ||
         pod.text.find("\"extendedResourceClaimStatus\":{") != std::string::npos;
}

std::vector<PodClaim> ClaimsOf(const json::object& pod) {
  std::vector<PodClaim> claims;
  for (const auto& value : ArrayOrEmpty(pod, "spec.resourceClaims")) {
    if (!value.is_object()) continue;
    const json::object& entry = value.get_object();
    PodClaim& claim = claims.emplace_back();
    claim.name = FindString(entry, "name");
    claim.template_name = FindString(entry, "resourceClaimTemplateName");
    claim.claim_name = claim.template_name.empty()
                           ? std::optional(std::string(FindString(entry, "resourceClaimName")))
                           : RecordedClaim(pod, claim.name);
  }
  const auto extended = FindString(pod, "status.extendedResourceClaimStatus.resourceClaimName");
  if (!extended.empty())
    claims.push_back({.name = {}, .template_name = {}, .claim_name = std::string(extended)});
  return claims;
}

bool IsReservedFor(const json::object& claim, std::string_view uid) {
  return std::ranges::any_of(ArrayOrEmpty(claim, "status.reservedFor"), [&](const json::value& consumer) {
    return consumer.is_object() && FindString(consumer.get_object(), "uid") == uid;
  });
}

bool IsControlledBy(const json::object& object, std::string_view uid) {
  const json::object* owner = ControllerOf(object);
  return owner != nullptr && FindString(*owner, "uid") == uid;
}

}  // namespace berth::sandbox
