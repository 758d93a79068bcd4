// Prepares pods for scheduling: compiles their specifications to ids and integers. Scheduler loop only.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "kubernetes/api/pod.hpp"
#include "scheduler/cluster/node_selection.hpp"
#include "scheduler/cluster/pod_info.hpp"
#include "scheduler/cluster/symbol_scope.hpp"
#include "scheduler/cluster/symbol_table.hpp"

namespace berth::cluster {

// For a pod that waits to be scheduled.
PodInfo PreparePod(api::PodPtr pod, SymbolTable& symbols);
// For a bound pod. Pods with equal use share the result.
PodUsePtr UseOf(const api::Pod& pod, SymbolTable& symbols);

// Calls visit(const api::ContainerPort&) for each host port of spec.containers and sidecars, until it returns
// true. Returns whether it did.
template <class Visit>
bool AnyHostPort(const api::Pod& pod, Visit&& visit) {
  const auto any = [&](const api::Container& container) {
    return std::ranges::any_of(
        container.ports, [&](const api::ContainerPort& port) { return port.host_port > 0 && visit(port); });
  };
  return std::ranges::any_of(pod.spec.containers, any) ||
         std::ranges::any_of(pod.spec.init_containers, [&](const api::Container& container) {
           return container.restart_always && any(container);
         });
}

// "nginx" -> "nginx:latest"; names with a tag or digest are unchanged.
std::string NormalizedImageName(std::string_view name);

// Whether two pods have the same shape. Ignored are name, uid, versions and times, the node to which a pod is
// bound or nominated, and conditions except those of kubernetes/api/read_conditions.hpp: a resize that is
// infeasible reduces what a pod uses.
bool SameShape(const api::Pod& a, const api::Pod& b);

// Errors have kube-scheduler's texts; `path` is the field in the pod.
CompiledTerm CompileTerm(const api::NodeSelectorTerm& term, std::string_view path,
                         std::vector<std::string>* errors, SymbolScope& symbols);
std::vector<CompiledPreference> CompilePreferences(const std::vector<api::PreferredSchedulingTerm>& terms,
                                                   std::string* error, SymbolScope& symbols);

}  // namespace berth::cluster
