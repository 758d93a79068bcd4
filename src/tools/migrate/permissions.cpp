#include "tools/migrate/permissions.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kubernetes/client/resources.hpp"

namespace berth::migrate {
namespace {

// Verbs on resources, both separated by spaces.
struct Row {
  std::string_view group, resources, verbs;
  Level without;
  std::string_view consequence;
};

// In all namespaces.
constexpr Row kEverywhere[] = {
    {"", "pods nodes persistentvolumes persistentvolumeclaims", "list watch", Level::kBlocker,
     "nothing is scheduled"},
    {"policy", "poddisruptionbudgets", "list watch", Level::kBlocker, "nothing is scheduled"},
    {"storage.k8s.io", "storageclasses csinodes", "list watch", Level::kBlocker, "nothing is scheduled"},
    {"", "pods/binding", "create", Level::kBlocker, "no pod is bound"},
    {"", "persistentvolumes persistentvolumeclaims", "patch", Level::kBlocker,
     "pods whose volumes wait for their first consumer fail"},
    {"", "pods/status", "patch", Level::kBlocker,
     "pods have no condition with the reason why they wait, and nothing is preempted"},
    {"", "pods", "delete", Level::kBlocker, "nothing is preempted"},
    {"", "pods", "get", Level::kWarning,
     "a pod whose binding response was lost is reported as failed until the watch delivers its update"},
    {"", "namespaces", "list watch", Level::kBlocker,
     "nothing is scheduled, unless --berth-allow-missing-resources is set"},
    {"storage.k8s.io", "csidrivers", "list watch", Level::kBlocker,
     "nothing is scheduled, unless --berth-allow-missing-resources is set"},
    {"", "services replicationcontrollers", "list watch", Level::kWarning,
     "the default spreading ignores it"},
    {"apps", "replicasets statefulsets", "list watch", Level::kWarning, "the default spreading ignores it"},
    {"storage.k8s.io", "csistoragecapacities volumeattachments", "list watch", Level::kWarning,
     "capacity and limits of volumes are evaluated without it"},
    {"resource.k8s.io", "deviceclasses resourceclaims resourceslices devicetaintrules", "list watch",
     Level::kWarning, "devices are unknown"},
    {"resource.k8s.io", "resourceclaims resourceclaims/status resourceclaims/binding", "patch",
     Level::kWarning, "pods with resource claims are not bound"},
    {"resource.k8s.io", "resourceclaims", "create delete", Level::kWarning,
     "pods with extended resources of device classes are not bound"},
    {"events.k8s.io", "events", "create patch", Level::kWarning, "pods get no events"},
    {"authentication.k8s.io", "tokenreviews", "create", Level::kWarning,
     "metrics requests with a token are rejected"},
    {"authorization.k8s.io", "subjectaccessreviews", "create", Level::kWarning,
     "metrics requests over HTTPS are rejected"},
};

// The effect if resources that only some configurations read must not be watched, and the role that allows
// it.
struct Effect {
  std::string_view group, resource, consequence;
};
constexpr Effect kEffects[] = {
    {"scheduling.k8s.io", "podgroups", "pods of pod groups wait (role: pod-groups.yaml)"},
    {"scheduling.k8s.io", "compositepodgroups", "pods of composite pod groups wait (role: pod-groups.yaml)"},
    {"scheduling.k8s.io", "priorityclasses",
     "pods with a priority class are not evicted (role: priority-classes.yaml)"},
    {"scheduling.x-k8s.io", "podgroups", "pods of these groups wait (role: gangs.yaml)"},
    {"scheduling.volcano.sh", "podgroups", "pods of these groups wait (role: gangs.yaml)"},
    {"batch", "jobs", "pods of Jobs that are groups wait (role: gangs.yaml)"},
    {"scheduling.x-k8s.io", "elasticquotas", "no namespace has a quota (role: quotas.yaml)"},
    {"scheduling.sigs.k8s.io", "elasticquotas", "no namespace has a quota (role: quotas.yaml)"},
    {"topology.node.k8s.io", "noderesourcetopologies",
     "the NUMA zones of nodes are not considered (role: numa.yaml)"},
};

std::string_view ConsequenceWithout(const client::Resource& resource) {
  for (const Effect& effect : kEffects) {
    if (effect.group == resource.group && effect.resource == resource.plural) return effect.consequence;
  }
  return "a plugin of the configuration does not see it";
}

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    words.emplace_back(text.substr(0, text.find(' ')));
    text.remove_prefix(std::min(words.back().size() + 1, text.size()));
  }
  return words;
}

void AddRow(const Row& row, std::string_view ns, std::string_view name, std::vector<Permission>& all) {
  for (const std::string& resource : Words(row.resources)) {
    const auto slash = resource.find('/');
    for (const std::string& verb : Words(row.verbs)) {
      all.push_back({.verb = verb,
                     .group = std::string(row.group),
                     .resource = resource.substr(0, slash),
                     .subresource = slash == resource.npos ? "" : resource.substr(slash + 1),
                     .ns = std::string(ns),
                     .name = std::string(name),
                     .without = row.without,
                     .consequence = std::string(row.consequence)});
    }
  }
}

// Of the kinds that only some configurations read.
void AddWatched(const WatchedKinds& watched, std::vector<Permission>& all) {
  const auto add = [&](const client::Resource& resource) {
    const bool always = resource.feature_gate.empty() && !resource.on_request;
    if (always || !resource.IsWatched(watched.gates, watched.requested)) return;
    AddRow({resource.group, resource.plural, "list watch", Level::kWarning, ConsequenceWithout(resource)}, "",
           "", all);
  };
  std::ranges::for_each(client::kResources, add);
  std::ranges::for_each(client::kExternalResources, add);
  std::ranges::for_each(client::kOtherSources, add);
  if (watched.gates.Enabled("GenericWorkload"))
    AddRow({"scheduling.k8s.io", "podgroups/status", "patch", Level::kWarning,
            "pod groups have no condition with the reason why they wait (role: pod-groups.yaml)"},
           "", "", all);
}

}  // namespace

std::string Permission::Text() const {
  std::string text = fmt::format("{} {}{}{}", verb, resource, subresource.empty() ? "" : "/", subresource);
  if (!group.empty()) text += "." + group;
  if (!name.empty()) return fmt::format("{} {}/{}", text, ns, name);
  return ns.empty() ? text : fmt::format("{} in {}", text, ns);
}

std::vector<Permission> NeededPermissions(const Lease& lease, const WatchedKinds& watched) {
  std::vector<Permission> all;
  for (const Row& row : kEverywhere) AddRow(row, "", "", all);
  AddWatched(watched, all);
  if (lease.wanted) {
    const std::string_view group = "coordination.k8s.io";
    AddRow({group, "leases", "get update", Level::kBlocker, "it never leads"}, lease.ns, lease.name, all);
    AddRow({group, "leases", "create", Level::kBlocker, "it never leads, unless the lease exists already"},
           lease.ns, "", all);
    AddRow({group, "leases", "watch", Level::kNote, "a standby polls, and takes over some seconds later"},
           lease.ns, lease.name, all);
    AddRow({"", "events", "create", Level::kNote, "no event reports a new leader"}, lease.ns, "", all);
  }
  AddRow({"", "configmaps", "get list watch", Level::kWarning,
          "metrics requests with a client certificate are rejected"},
         "kube-system", "extension-apiserver-authentication", all);
  return all;
}

}  // namespace berth::migrate
