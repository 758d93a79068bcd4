// The resource claims of a pod (dynamic resource allocation).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/store/object.hpp"

namespace berth::sandbox {

// The scheduler adds it to a claim that it allocates; the claim controller removes it after the deallocation.
constexpr std::string_view kClaimFinalizer = "resource.kubernetes.io/delete-protection";
// Annotation of a claim made from a template: the name in spec.resourceClaims of its pod.
constexpr std::string_view kPodClaimAnnotation = "resource.kubernetes.io/pod-claim-name";

// An entry of spec.resourceClaims, or the claim of the pod's extended resources.
struct PodClaim {
  std::string name;           // of the entry; empty for extended resources
  std::string template_name;  // empty: the entry names a claim
  // The ResourceClaim. nullopt: not created yet. Empty: none is needed.
  std::optional<std::string> claim_name;
};

// False for most pods, without parsing.
bool MayUseClaims(const Object& pod);
// In the order of the spec; the claim of extended resources comes last.
std::vector<PodClaim> ClaimsOf(const json::object& pod);

// True if the object with this uid is in status.reservedFor.
bool IsReservedFor(const json::object& claim, std::string_view uid);
// True if the object with this uid is the managing controller.
bool IsControlledBy(const json::object& object, std::string_view uid);

}  // namespace berth::sandbox
