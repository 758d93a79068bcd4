#include "tools/explain/input_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

namespace berth::explain {
namespace {

bool UsesClaims(const api::Pod& pod) {
  return std::ranges::any_of(std::as_const(pod.spec.volumes), [](const api::Volume& volume) {
    return volume.source == api::Volume::Source::kPersistentVolumeClaim ||
           volume.source == api::Volume::Source::kEphemeral;
  });
}
bool UsesDevices(const api::Pod& pod) { return !pod.spec.resource_claims.empty(); }
bool SelectsNamespaces(const api::Pod& pod) {
  for (const auto* rules : {&pod.spec.pod_affinity, &pod.spec.pod_anti_affinity}) {
    if (!*rules) continue;
    if (std::ranges::any_of((*rules)->required,
                            [](const auto& term) { return term.namespace_selector.has_value(); }))
      return true;
  }
  return false;
}
bool Preempts(const api::Pod& pod) { return pod.spec.priority > 0 && !pod.spec.never_preempts; }

struct Need {
  std::string_view kind, plural;
  bool (*needed)(const api::Pod& pod);
  std::string_view because;
};
constexpr Need kNeeds[] = {
    {"PersistentVolumeClaim", "pvc", &UsesClaims, "pods use claims"},
    {"PersistentVolume", "pv", &UsesClaims, "pods use claims"},
    {"StorageClass", "storageclasses", &UsesClaims, "pods use claims"},
    {"CSINode", "csinodes", &UsesClaims, "pods use claims"},
    {"ResourceClaim", "resourceclaims", &UsesDevices, "pods use devices"},
    {"ResourceSlice", "resourceslices", &UsesDevices, "pods use devices"},
    {"DeviceClass", "deviceclasses", &UsesDevices, "pods use devices"},
    {"Namespace", "namespaces", &SelectsNamespaces, "affinity terms select namespaces"},
    {"PodDisruptionBudget", "pdb", &Preempts, "pods may preempt others"},
};

std::string Command(std::string_view plurals) {
  return fmt::format("kubectl get nodes,pods{} -A -o json > cluster.json", plurals);
}

}  // namespace

Expected<void> CheckInput(const KindCounts& kinds) {
  const bool pods = kinds.contains("Pod"), nodes = kinds.contains("Node");
  if (pods && nodes) return {};
  std::vector<std::string> found;
  for (const auto& [kind, count] : kinds) found.push_back(fmt::format("{} {}", count, kind));
  std::string text = "the input is empty";
  if (!found.empty()) {
    text = fmt::format("the input has no {}, only {}",
                       !pods && !nodes ? "pods and no nodes"
                       : pods          ? "nodes"
                                       : "pods",
                       fmt::join(found, ", "));
  }
  return Invalid(fmt::format("{}: pass the nodes and the pods of the cluster: {}", text, Command("")));
}

std::vector<std::string> IncompleteInput(const KindCounts& kinds, const std::vector<api::PodPtr>& pods) {
  std::vector<std::string> missing, reasons;
  std::string plurals;
  for (const Need& need : kNeeds) {
    const bool needed = std::ranges::any_of(pods, [&](const api::PodPtr& pod) { return need.needed(*pod); });
    if (!needed || kinds.contains(std::string(need.kind))) continue;
    missing.emplace_back(need.kind);
    plurals += fmt::format(",{}", need.plural);
    if (std::ranges::find(reasons, need.because) == reasons.end()) reasons.emplace_back(need.because);
  }
  if (missing.empty()) return {};
  return {fmt::format("the input has no {}, but {}. If the cluster has them, add them: {}",
                      fmt::join(missing, ", "), fmt::join(reasons, " and "), Command(plurals))};
}

}  // namespace berth::explain
