// Pods, field by field.
#include <algorithm>

#include "base/check.hpp"
#include "kubernetes/api/decode_common.hpp"
#include "kubernetes/api/encode_kinds.hpp"
#include "kubernetes/api/timestamp.hpp"
#include "kubernetes/api/volume_sources.hpp"

namespace berth::api::json {
// Not in an unnamed namespace: the writers of lists and optionals find these by argument-dependent lookup.

// --- affinity ---

void Write(Writer& to, const PreferredSchedulingTerm& value) {
  WriteFields(to, Member{"weight", value.weight}, Member{"preference", value.preference});
}

void Write(Writer& to, const NodeAffinity& value) {
  WriteFields(to, Member{"requiredDuringSchedulingIgnoredDuringExecution", value.required},
              Member{"preferredDuringSchedulingIgnoredDuringExecution", value.preferred});
}

void Write(Writer& to, const PodAffinityTerm& value) {
  WriteFields(to, Member{"labelSelector", value.label_selector}, Member{"namespaces", value.namespaces},
              Member{"namespaceSelector", value.namespace_selector},
              Member{"topologyKey", value.topology_key}, Member{"matchLabelKeys", value.match_label_keys},
              Member{"mismatchLabelKeys", value.mismatch_label_keys});
}

void Write(Writer& to, const WeightedPodAffinityTerm& value) {
  WriteFields(to, Member{"weight", value.weight}, Member{"podAffinityTerm", value.term});
}

void Write(Writer& to, const PodAffinity& value) {
  WriteFields(to, Member{"requiredDuringSchedulingIgnoredDuringExecution", value.required},
              Member{"preferredDuringSchedulingIgnoredDuringExecution", value.preferred});
}

void Write(Writer& to, const TopologySpreadConstraint& value) {
  WriteFields(
      to, Member{"maxSkew", value.max_skew}, Member{"topologyKey", value.topology_key},
      Member{"whenUnsatisfiable", value.when_unsatisfiable}, Member{"labelSelector", value.label_selector},
      Member{"minDomains", value.min_domains}, Member{"nodeAffinityPolicy", value.node_affinity_policy},
      Member{"nodeTaintsPolicy", value.node_taints_policy}, Member{"matchLabelKeys", value.match_label_keys});
}

void Write(Writer& to, const Toleration& value) {
  WriteFields(to, Member{"key", value.key}, Member{"operator", value.op}, Member{"value", value.value},
              Member{"effect", value.effect});
}

// --- containers ---

void Write(Writer& to, const ResourceRequirements& value) {
  WriteFields(to, Member{"requests", value.requests}, Member{"limits", value.limits});
}

void Write(Writer& to, const ContainerPort& value) {
  WriteFields(to, Member{"containerPort", value.container_port}, Member{"hostPort", value.host_port},
              Member{"protocol", value.protocol}, Member{"hostIP", value.host_ip});
}

void Write(Writer& to, const Container& value) {
  const std::string policy = value.restart_always ? "Always" : "";
  WriteFields(to, Member{"name", value.name}, Member{"image", value.image},
              Member{"resources", value.resources}, Member{"ports", value.ports},
              Member{"restartPolicy", policy});
}

// A container that stands for the node features which any of the pod's containers requires. Ephemeral ones
// count for nothing else.
void WriteDemands(Writer& to, const PodSpec& spec) {
  const auto rules = [](Writer& w) { w.out() += R"([{"action":"RestartAllContainers"}])"; };
  const auto mounts = [](Writer& w) { w.out() += R"([{"bindMountOptions":["ro"]}])"; };
  to.out() += '[';
  {
    Members members(to);
    if (spec.restarts_all_containers) members.Add(Required{"restartPolicyRules", rules});
    if (spec.bind_mount_options) members.Add(Required{"volumeMounts", mounts});
  }
  to.out() += ']';
}

void Write(Writer& to, const ContainerStatus& value) {
  const auto resources = [&](Writer& w) { WriteFields(w, Member{"requests", value.resource_requests}); };
  WriteFields(to, Member{"name", value.name}, Member{"allocatedResources", value.allocated_resources},
              Member{"resources", resources});
}

// --- volumes and claims ---

void Write(Writer& to, const Volume& value) {
  const auto* source = std::ranges::find(kPodVolumeSources, value.source, &PodVolumeSource::source);
  const std::string pool = value.rbd ? value.rbd->pool : "";
  const std::vector<std::string> monitors = value.rbd ? value.rbd->monitors : std::vector<std::string>();
  const auto fields = [&](Writer& w) {
    if (source == kPodVolumeSources.end()) return WriteFields(w);
    WriteFields(w, Member{source->id, value.id}, Member{"readOnly", value.read_only}, Member{"pool", pool},
                Member{"monitors", monitors}, Member{"kind", value.azure_kind});
  };
  const std::string_view member = source == kPodVolumeSources.end() ? "ephemeral" : source->member;
  WriteFields(to, Member{"name", value.name}, Required{member, fields});
}

// The order of volumes and that of image volumes are each kept; nothing depends on the order between them.
void WriteVolumes(Writer& to, const PodSpec& spec) {
  to.out() += '[';
  const auto next = [&] {
    if (to.out().back() != '[') to.out() += ',';
  };
  for (const Volume& volume : spec.volumes) {
    next();
    Write(to, volume);
  }
  for (const std::string& image : spec.image_volumes) {
    next();
    const auto reference = [&](Writer& w) { WriteFields(w, Required{"reference", image}); };
    WriteFields(to, Required{"image", reference});
  }
  if (spec.local_storage) {
    next();
    to.out() += R"({"emptyDir":{}})";
  }
  to.out() += ']';
}

void Write(Writer& to, const PodResourceClaim& value) {
  WriteFields(to, Member{"name", value.name}, Member{"resourceClaimName", value.resource_claim_name},
              Member{"resourceClaimTemplateName", value.resource_claim_template_name});
}

void Write(Writer& to, const PodResourceClaimStatus& value) {
  WriteFields(to, Member{"name", value.name}, Member{"resourceClaimName", value.resource_claim_name});
}

void Write(Writer& to, const ExtendedResourceClaimStatus::RequestMapping& value) {
  WriteFields(to, Member{"containerName", value.container_name}, Member{"resourceName", value.resource_name},
              Member{"requestName", value.request_name});
}

void Write(Writer& to, const ExtendedResourceClaimStatus& value) {
  WriteFields(to, Member{"resourceClaimName", value.resource_claim_name},
              Member{"requestMappings", value.request_mappings});
}

// --- the pod ---

void WriteCondition(Writer& to, const PodCondition& value, const std::string& since) {
  WriteFields(to, Member{"type", value.type}, Member{"status", value.status}, Member{"reason", value.reason},
              Member{"message", value.message}, Member{"lastTransitionTime", since},
              Member{"observedGeneration", value.observed_generation});
}

void Write(Writer& to, const PodSpec& value) {
  const auto gates = [&](Writer& w) {
    AppendJsonList(w.out(), value.scheduling_gates,
                   [&](std::string&, const std::string& name) { WriteFields(w, Required{"name", name}); });
  };
  const auto affinity = [&](Writer& w) {
    WriteFields(w, Member{"nodeAffinity", value.node_affinity}, Member{"podAffinity", value.pod_affinity},
                Member{"podAntiAffinity", value.pod_anti_affinity});
  };
  const auto demands = [&](Writer& w) { WriteDemands(w, value); };
  const auto volumes = [&](Writer& w) { WriteVolumes(w, value); };
  const auto group = [&](Writer& w) { WriteFields(w, Required{"podGroupName", *value.pod_group}); };
  const std::string preemption = value.never_preempts ? "Never" : "";
  Members members(to);
  members.Add(Member{"nodeName", value.node_name})
      .Add(Member{"schedulerName", value.scheduler_name})
      .Add(Member{"priorityClassName", value.priority_class_name})
      .Add(Member{"priority", value.priority})
      .Add(Member{"preemptionPolicy", preemption});
  if (!value.scheduling_gates.empty()) members.Add(Required{"schedulingGates", gates});
  members.Add(Member{"nodeSelector", value.node_selector})
      .Add(Member{"affinity", affinity})
      .Add(Member{"tolerations", value.tolerations})
      .Add(Member{"containers", value.containers})
      .Add(Member{"initContainers", value.init_containers});
  if (value.restarts_all_containers || value.bind_mount_options)
    members.Add(Required{"ephemeralContainers", demands});
  members.Add(Member{"resources", value.resources}).Add(Member{"overhead", value.overhead});
  if (!value.volumes.empty() || !value.image_volumes.empty() || value.local_storage)
    members.Add(Required{"volumes", volumes});
  members.Add(Member{"topologySpreadConstraints", value.topology_spread_constraints})
      .Add(Member{"resourceClaims", value.resource_claims});
  if (value.pod_group) members.Add(Required{"schedulingGroup", group});
  members.Add(Member{"hostNetwork", value.host_network}).Add(Member{"hostUsers", value.host_users});
}

void Write(Writer& to, const PodStatus& value) {
  // The decoder keeps the time of PodScheduled outside of the list.
  const std::string scheduled = value.scheduled_time == 0 ? "" : FormatTimestamp(value.scheduled_time);
  const auto conditions = [&](Writer& w) {
    AppendJsonList(w.out(), value.conditions, [&](std::string&, const PodCondition& condition) {
      const bool kept_apart = IsScheduled(condition) && condition.last_transition_time.empty();
      WriteCondition(w, condition, kept_apart ? scheduled : condition.last_transition_time);
    });
  };
  const std::string started = value.start_time == 0 ? "" : FormatTimestamp(value.start_time);
  const auto resources = [&](Writer& w) { WriteFields(w, Member{"requests", value.resource_requests}); };
  Members members(to);
  members.Add(Member{"phase", value.phase}).Add(Member{"nominatedNodeName", value.nominated_node_name});
  if (!value.conditions.empty()) members.Add(Required{"conditions", conditions});
  members.Add(Member{"startTime", started})
      .Add(Member{"containerStatuses", value.container_statuses})
      .Add(Member{"initContainerStatuses", value.init_container_statuses})
      .Add(Member{"resourceClaimStatuses", value.resource_claim_statuses})
      .Add(Member{"extendedResourceClaimStatus", value.extended_resource_claim})
      .Add(Member{"allocatedResources", value.allocated_resources});
  if (value.has_resources) members.Add(Required{"resources", resources});
}

void AddMembers(Members& members, const Pod& value) {
  members.Add(Required{"metadata", value.metadata})
      .Add(Member{"spec", value.spec})
      .Add(Member{"status", value.status});
}

}  // namespace berth::api::json
