// Pods, field by field. Field numbers are those of generated.proto in k8s.io/api v0.37.
#include "kubernetes/api/decode_common.hpp"
#include "kubernetes/api/wire/message.hpp"
#include "kubernetes/api/wire/recent.hpp"

namespace berth::api::wire {
// Not in an unnamed namespace: the readers of lists and optionals find these by argument-dependent lookup.

void Read(Message in, PreferredSchedulingTerm& out) {
  ReadFields(in, At<1>("weight", out.weight), At<2>("preference", out.preference));
}

void Read(Message in, NodeAffinity& out) {
  ReadFields(in, At<1>("requiredDuringSchedulingIgnoredDuringExecution", out.required),
             At<2>("preferredDuringSchedulingIgnoredDuringExecution", out.preferred));
}

void Read(Message in, PodAffinityTerm& out) {
  ReadFields(in, At<1>("labelSelector", out.label_selector), At<2>("namespaces", out.namespaces),
             At<3>("topologyKey", out.topology_key), At<4>("namespaceSelector", out.namespace_selector),
             At<5>("matchLabelKeys", out.match_label_keys),
             At<6>("mismatchLabelKeys", out.mismatch_label_keys));
}

void Read(Message in, WeightedPodAffinityTerm& out) {
  ReadFields(in, At<1>("weight", out.weight), At<2>("podAffinityTerm", out.term));
}

void Read(Message in, PodAffinity& out) {
  ReadFields(in, At<1>("requiredDuringSchedulingIgnoredDuringExecution", out.required),
             At<2>("preferredDuringSchedulingIgnoredDuringExecution", out.preferred));
}

void ReadAffinity(Message in, PodSpec& out) {
  ReadFields(in, Alike<1>("nodeAffinity", out.node_affinity), Alike<2>("podAffinity", out.pod_affinity),
             Alike<3>("podAntiAffinity", out.pod_anti_affinity));
}

void Read(Message in, TopologySpreadConstraint& out) {
  ReadFields(in, At<1>("maxSkew", out.max_skew), At<2>("topologyKey", out.topology_key),
             At<3>("whenUnsatisfiable", out.when_unsatisfiable), At<4>("labelSelector", out.label_selector),
             At<5>("minDomains", out.min_domains), At<6>("nodeAffinityPolicy", out.node_affinity_policy),
             At<7>("nodeTaintsPolicy", out.node_taints_policy),
             At<8>("matchLabelKeys", out.match_label_keys));
}

void Read(Message in, Toleration& out) {
  ReadFields(in, At<1>("key", out.key), At<2>("operator", out.op), At<3>("value", out.value),
             At<4>("effect", out.effect));
}

void Read(Message in, ResourceRequirements& out) {
  ReadFields(in, At<1>("limits", out.limits), At<2>("requests", out.requests));
}

void Read(Message in, ContainerPort& out) {
  ReadFields(in, At<2>("hostPort", out.host_port), At<3>("containerPort", out.container_port),
             At<4>("protocol", out.protocol), At<5>("hostIP", out.host_ip));
}

// The node features that a container requires.
void TakeMount(Message& at, PodSpec& spec) {
  ReadFields(TakeMessage(at), At<8>("bindMountOptions", [&](Message& option) {
               TakeBytes(option);
               spec.bind_mount_options = true;
             }));
}
void TakeRestartRule(Message& at, PodSpec& spec) {
  ReadFields(TakeMessage(at), At<1>("action", [&](Message& action) {
               spec.restarts_all_containers |= TakeBytes(action) == "RestartAllContainers";
             }));
}

void TakeContainer(Message& at, CowList<Container>& containers, PodSpec& spec) {
  TakeItem(at, containers, [&](Message& item, Container& out) {
    ReadFields(
        TakeMessage(item), At<1>("name", out.name), At<2>("image", out.image), At<6>("ports", out.ports),
        At<8>("resources", out.resources),
        At<9>("volumeMounts", [&](Message& mount) { TakeMount(mount, spec); }),
        At<24>("restartPolicy", [&](Message& policy) { out.restart_always = TakeBytes(policy) == "Always"; }),
        At<25>("restartPolicyRules", [&](Message& rule) { TakeRestartRule(rule, spec); }));
  });
}

// An ephemeral container has a container's fields in its own first field.
void TakeEphemeralContainer(Message& at, PodSpec& spec) {
  ReadFields(TakeMessage(at), At<1>("ephemeralContainerCommon", [&](Message& common) {
               ReadFields(TakeMessage(common),
                          At<9>("volumeMounts", [&](Message& mount) { TakeMount(mount, spec); }),
                          At<25>("restartPolicyRules", [&](Message& rule) { TakeRestartRule(rule, spec); }));
             }));
}

void Read(Message in, PodResourceClaim& out) {
  ReadFields(in, At<1>("name", out.name), At<3>("resourceClaimName", out.resource_claim_name),
             At<4>("resourceClaimTemplateName", out.resource_claim_template_name));
}

void TakeGate(Message& at, CowList<std::string>& gates) {
  TakeItem(at, gates,
           [](Message& gate, std::string& name) { ReadFields(TakeMessage(gate), At<1>("name", name)); });
}

void Read(Message in, PodSpec& out) {
  ReadFields(in, At<1>("volumes", [&](Message& at) { TakeVolume(at, out); }),
             At<2>("containers", [&](Message& at) { TakeContainer(at, out.containers, out); }),
             Alike<7>("nodeSelector", out.node_selector), Alike<10>("nodeName", out.node_name),
             At<11>("hostNetwork", out.host_network),
             At<18>("affinity", [&](Message& at) { ReadAffinity(TakeMessage(at), out); }),
             Alike<19>("schedulerName", out.scheduler_name),
             At<20>("initContainers", [&](Message& at) { TakeContainer(at, out.init_containers, out); }),
             Alike<22>("tolerations", out.tolerations),
             Alike<24>("priorityClassName", out.priority_class_name), At<25>("priority", out.priority),
             At<31>("preemptionPolicy", [&](Message& at) { out.never_preempts = TakeBytes(at) == "Never"; }),
             At<32>("overhead", out.overhead),
             Alike<33>("topologySpreadConstraints", out.topology_spread_constraints),
             At<34>("ephemeralContainers", [&](Message& at) { TakeEphemeralContainer(at, out); }),
             At<37>("hostUsers", out.host_users),
             At<38>("schedulingGates", [&](Message& at) { TakeGate(at, out.scheduling_gates); }),
             At<39>("resourceClaims", out.resource_claims), At<40>("resources", out.resources),
             At<43>("schedulingGroup",
                    [&](Message& at) { ReadFields(TakeMessage(at), At<1>("podGroupName", out.pod_group)); }));
}

void Read(Message in, ContainerStatus& out) {
  ReadFields(in, At<1>("name", out.name), At<10>("allocatedResources", out.allocated_resources),
             At<11>("resources", [&](Message& at) {
               ReadFields(TakeMessage(at), At<2>("requests", out.resource_requests));
             }));
}

void TakeCondition(Message& at, Pod& pod) {
  TakeItem(at, pod.status.conditions, [&](Message& item, PodCondition& out) {
    const Message condition = TakeMessage(item);
    ReadFields(condition, At<1>("type", out.type), At<2>("status", out.status));
    // The spec precedes the status, so conditions that would be cleared are not built.
    if (IsScheduled(out) && !pod.spec.node_name.empty()) {
      ReadFields(condition, At<4>("lastTransitionTime", [&](Message& time) {
                   pod.status.scheduled_time = TakeTime(time).value_or(0);
                 }));
    }
    if (!KeepsWholeCondition(pod, out)) return;
    ReadFields(condition,
               At<4>("lastTransitionTime", [&](Message& time) { TakeTime(time, out.last_transition_time); }),
               At<5>("reason", out.reason), At<6>("message", out.message),
               At<7>("observedGeneration", out.observed_generation));
  });
}

void Read(Message in, PodResourceClaimStatus& out) {
  ReadFields(in, At<1>("name", out.name), At<2>("resourceClaimName", out.resource_claim_name));
}

void Read(Message in, ExtendedResourceClaimStatus::RequestMapping& out) {
  ReadFields(in, At<1>("containerName", out.container_name), At<2>("resourceName", out.resource_name),
             At<3>("requestName", out.request_name));
}

void Read(Message in, ExtendedResourceClaimStatus& out) {
  ReadFields(in, At<1>("requestMappings", out.request_mappings),
             At<2>("resourceClaimName", out.resource_claim_name));
}

void ReadPodStatus(Message in, Pod& pod) {
  PodStatus& out = pod.status;
  ReadFields(in, Alike<1>("phase", out.phase),
             At<2>("conditions", [&](Message& at) { TakeCondition(at, pod); }),
             At<7>("startTime", [&](Message& at) { out.start_time = TakeTime(at).value_or(0); }),
             At<8>("containerStatuses", out.container_statuses),
             At<10>("initContainerStatuses", out.init_container_statuses),
             At<11>("nominatedNodeName", out.nominated_node_name),
             At<15>("resourceClaimStatuses", out.resource_claim_statuses),
             At<18>("extendedResourceClaimStatus", out.extended_resource_claim),
             At<19>("allocatedResources", out.allocated_resources), At<20>("resources", [&](Message& at) {
               out.has_resources = true;
               ReadFields(TakeMessage(at), At<2>("requests", out.resource_requests));
             }));
}

void Read(Message in, Pod& out) {
  ReadFields(in, At<1>("metadata", out.metadata), At<2>("spec", out.spec),
             At<3>("status", [&](Message& at) { ReadPodStatus(TakeMessage(at), out); }));
  TrimConditions(out);
}

}  // namespace berth::api::wire
