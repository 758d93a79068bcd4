#include "sandbox/kubelet/devices/prepare_claims.hpp"

#include <fmt/format.h>

#include "sandbox/controllers/kinds.hpp"
#include "sandbox/controllers/resource_claims/pod_claims.hpp"

namespace berth::sandbox {

std::optional<std::string> PrepareClaims(const Store& store, const Object& pod) {
  if (!MayUseClaims(pod)) return std::nullopt;
  for (const auto& entry : ClaimsOf(pod.Parse().root())) {
    if (!entry.claim_name) return fmt::format("pod \"{}\": ResourceClaim not created yet", pod.key);
    const std::string& name = *entry.claim_name;
    if (name.empty()) continue;
    const ObjectPtr claim = store.Get(Kinds().resource_claims, ObjectKey(pod.ns, name));
    if (!claim)
      return fmt::format("fetch ResourceClaim {0}: resourceclaims.resource.k8s.io \"{0}\" not found", name);
    const Document document = claim->Parse();
    if (!entry.template_name.empty() && !IsControlledBy(document.root(), pod.uid)) {
      return fmt::format("ResourceClaim {} was not created for Pod {} (Pod is not owner)", claim->key,
                         pod.key);
    }
    if (!IsReservedFor(document.root(), pod.uid)) {
      return fmt::format("pod {} ({}) is not allowed to use ResourceClaim {} ({})", pod.name, pod.uid, name,
                         claim->uid);
    }
    if (FindObject(document.root(), "status.allocation") == nullptr)
      return fmt::format("ResourceClaim {}: not allocated", name);
  }
  return std::nullopt;
}

}  // namespace berth::sandbox
