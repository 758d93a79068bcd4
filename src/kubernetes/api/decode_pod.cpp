// Pods, field by field.
#include <algorithm>

#include "kubernetes/api/decode_common.hpp"
#include "kubernetes/api/json_reader.hpp"
#include "kubernetes/api/timestamp.hpp"
#include "kubernetes/api/volume_sources.hpp"

namespace berth::api::json {
// Not in an unnamed namespace: the readers of lists and optionals find these by argument-dependent lookup.

// An empty map counts as absent, as in encoding between Kubernetes components.
bool ReadIfAny(const element& value, CowPtr<ResourceList>& out, Failure& failure) {
  if (!Read(value, out, failure)) return false;
  if (out->empty()) out.reset();
  return true;
}

bool Read(const element& value, PreferredSchedulingTerm& out, Failure& failure) {
  return ReadFields(value, failure, Field{"weight", out.weight}, Field{"preference", out.preference});
}

bool Read(const element& value, NodeAffinity& out, Failure& failure) {
  return ReadFields(value, failure, Field{"requiredDuringSchedulingIgnoredDuringExecution", out.required},
                    Field{"preferredDuringSchedulingIgnoredDuringExecution", out.preferred});
}

bool Read(const element& value, PodAffinityTerm& out, Failure& failure) {
  return ReadFields(value, failure, Field{"labelSelector", out.label_selector},
                    Field{"namespaces", out.namespaces}, Field{"namespaceSelector", out.namespace_selector},
                    Field{"topologyKey", out.topology_key}, Field{"matchLabelKeys", out.match_label_keys},
                    Field{"mismatchLabelKeys", out.mismatch_label_keys});
}

bool Read(const element& value, WeightedPodAffinityTerm& out, Failure& failure) {
  return ReadFields(value, failure, Field{"weight", out.weight}, Field{"podAffinityTerm", out.term});
}

bool Read(const element& value, PodAffinity& out, Failure& failure) {
  return ReadFields(value, failure, Field{"requiredDuringSchedulingIgnoredDuringExecution", out.required},
                    Field{"preferredDuringSchedulingIgnoredDuringExecution", out.preferred});
}

bool ReadTimestamp(const element& value, std::int64_t& out, Failure& failure) {
  std::string text;
  if (!Read(value, text, failure)) return false;
  const auto seconds = ParseTimestamp(text);
  if (!seconds) return failure.Set("\"" + text + "\" is not an RFC 3339 time");
  out = *seconds;
  return true;
}

bool ReadAffinity(const element& value, PodSpec& out, Failure& failure) {
  return ReadFields(value, failure, Field{"nodeAffinity", out.node_affinity},
                    Field{"podAffinity", out.pod_affinity}, Field{"podAntiAffinity", out.pod_anti_affinity});
}

bool Read(const element& value, TopologySpreadConstraint& out, Failure& failure) {
  return ReadFields(
      value, failure, Field{"maxSkew", out.max_skew}, Field{"topologyKey", out.topology_key},
      Field{"whenUnsatisfiable", out.when_unsatisfiable}, Field{"labelSelector", out.label_selector},
      Field{"minDomains", out.min_domains}, Field{"nodeAffinityPolicy", out.node_affinity_policy},
      Field{"nodeTaintsPolicy", out.node_taints_policy}, Field{"matchLabelKeys", out.match_label_keys});
}

bool Read(const element& value, Toleration& out, Failure& failure) {
  return ReadFields(value, failure, Field{"key", out.key}, Field{"operator", out.op},
                    Field{"value", out.value}, Field{"effect", out.effect});
}

bool Read(const element& value, ResourceRequirements& out, Failure& failure) {
  return ReadFields(value, failure, Field{"requests", out.requests}, Field{"limits", out.limits});
}

bool Read(const element& value, ContainerPort& out, Failure& failure) {
  return ReadFields(value, failure, Field{"containerPort", out.container_port},
                    Field{"hostPort", out.host_port}, Field{"protocol", out.protocol},
                    Field{"hostIP", out.host_ip});
}

bool Read(const element& value, Container& out, Failure& failure) {
  const auto policy = [&](const element& member, Failure& f) {
    std::string text;
    if (!Read(member, text, f)) return false;
    out.restart_always = text == "Always";
    return true;
  };
  return ReadFields(value, failure, Field{"name", out.name}, Field{"image", out.image},
                    Field{"resources", out.resources}, Field{"ports", out.ports},
                    Field{"restartPolicy", policy});
}

// The node features that a container requires.
bool ReadDemands(const element& containers, PodSpec& out, Failure& failure) {
  return ReadItems(containers, failure, [&](const element& container) {
    const auto rules = [&](const element& list, Failure& f) {
      return ReadItems(list, f, [&](const element& rule) {
        std::string action;
        if (!ReadFields(rule, f, Field{"action", action})) return false;
        out.restarts_all_containers |= action == "RestartAllContainers";
        return true;
      });
    };
    const auto mounts = [&](const element& list, Failure& f) {
      return ReadItems(list, f, [&](const element& mount) {
        simdjson::dom::array options;
        out.bind_mount_options |=
            mount["bindMountOptions"].get(options) == simdjson::SUCCESS && options.size() > 0;
        return true;
      });
    };
    return ReadFields(container, failure, Field{"restartPolicyRules", rules}, Field{"volumeMounts", mounts});
  });
}

bool ReadContainers(const element& value, CowList<Container>& out, PodSpec& spec, Failure& failure) {
  return Read(value, out, failure) && ReadDemands(value, spec, failure);
}

bool Read(const element& value, ContainerStatus& out, Failure& failure) {
  const auto allocated = [&](const element& member, Failure& f) {
    return ReadIfAny(member, out.allocated_resources, f);
  };
  const auto requests = [&](const element& member, Failure& f) {
    return ReadIfAny(member, out.resource_requests, f);
  };
  const auto resources = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"requests", requests});
  };
  return ReadFields(value, failure, Field{"name", out.name}, Field{"allocatedResources", allocated},
                    Field{"resources", resources});
}

bool Read(const element& value, PodCondition& out, Failure& failure) {
  return ReadFields(value, failure, Field{"type", out.type}, Field{"status", out.status},
                    Field{"reason", out.reason}, Field{"message", out.message},
                    Field{"lastTransitionTime", out.last_transition_time},
                    Field{"observedGeneration", out.observed_generation});
}

bool Read(const element& value, PodResourceClaim& out, Failure& failure) {
  return ReadFields(value, failure, Field{"name", out.name},
                    Field{"resourceClaimName", out.resource_claim_name},
                    Field{"resourceClaimTemplateName", out.resource_claim_template_name});
}

bool Read(const element& value, PodResourceClaimStatus& out, Failure& failure) {
  return ReadFields(value, failure, Field{"name", out.name},
                    Field{"resourceClaimName", out.resource_claim_name});
}

bool Read(const element& value, ExtendedResourceClaimStatus::RequestMapping& out, Failure& failure) {
  return ReadFields(value, failure, Field{"containerName", out.container_name},
                    Field{"resourceName", out.resource_name}, Field{"requestName", out.request_name});
}

bool Read(const element& value, ExtendedResourceClaimStatus& out, Failure& failure) {
  return ReadFields(value, failure, Field{"resourceClaimName", out.resource_claim_name},
                    Field{"requestMappings", out.request_mappings});
}

bool ReadGates(const element& value, CowList<std::string>& out, Failure& failure) {
  simdjson::dom::array array;
  if (value.get(array) != simdjson::SUCCESS) return Expect(value, "a list", failure);
  std::size_t index = 0;
  for (const element& item : array) {
    std::string& name = out.emplace_back();
    if (!ReadObject(item, failure, [&](std::string_view key, const element& member) {
          return key == "name" ? Read(member, name, failure) : true;
        })) {
      return failure.InItem(index);
    }
    ++index;
  }
  return true;
}

bool ReadSource(const element& value, const PodVolumeSource& source, Volume& out, Failure& failure) {
  out.source = source.source;
  std::string pool;
  std::vector<std::string> monitors;
  std::optional<std::string> kind;
  if (!ReadFields(value, failure, Field{source.id, out.id}, Field{"readOnly", out.read_only},
                  Field{"pool", pool}, Field{"monitors", monitors}, Field{"kind", kind})) {
    return false;
  }
  if (kind) out.azure_kind = std::move(*kind);
  if (out.source == Volume::Source::kRbd) out.rbd = Volume::Rbd{std::move(pool), std::move(monitors)};
  return true;
}

bool ReadVolumes(const element& value, PodSpec& out, Failure& failure) {
  out.volumes.clear();
  out.local_storage = false;
  return ReadItems(value, failure, [&](const element& item) {
    Volume volume;
    bool kept = false;
    const bool fine = ReadObject(item, failure, [&](std::string_view key, const element& member) {
      if (key == "name") return Read(member, volume.name, failure);
      if (key == "image") {
        return ReadFields(member, failure, Field{"reference", out.image_volumes.emplace_back()});
      }
      if (key == "emptyDir" || key == "hostPath") {
        out.local_storage |= !member.is_null();
        return true;
      }
      if (key == "ephemeral") {
        volume.source = Volume::Source::kEphemeral;
        return kept = true;
      }
      const auto* source = std::ranges::find(kPodVolumeSources, key, &PodVolumeSource::member);
      if (source == kPodVolumeSources.end()) return true;
      kept = true;
      return ReadSource(member, *source, volume, failure);
    });
    if (fine && kept) out.volumes.push_back(std::move(volume));
    return fine;
  });
}

bool Read(const element& value, PodSpec& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    if (key == "nodeName") return Read(member, out.node_name, failure);
    if (key == "schedulerName") return Read(member, out.scheduler_name, failure);
    if (key == "priorityClassName") return Read(member, out.priority_class_name, failure);
    if (key == "priority") return Read(member, out.priority, failure);
    if (key == "schedulingGates") return ReadGates(member, out.scheduling_gates, failure);
    if (key == "nodeSelector") return Read(member, out.node_selector, failure);
    if (key == "affinity") return ReadAffinity(member, out, failure);
    if (key == "tolerations") return Read(member, out.tolerations, failure);
    if (key == "containers") return ReadContainers(member, out.containers, out, failure);
    if (key == "initContainers") return ReadContainers(member, out.init_containers, out, failure);
    if (key == "ephemeralContainers") return ReadDemands(member, out, failure);
    if (key == "resources") return Read(member, out.resources, failure);
    if (key == "overhead") return Read(member, out.overhead, failure);
    if (key == "volumes") return ReadVolumes(member, out, failure);
    if (key == "topologySpreadConstraints") return Read(member, out.topology_spread_constraints, failure);
    if (key == "resourceClaims") return Read(member, out.resource_claims, failure);
    if (key == "schedulingGroup") {
      return ReadFields(member, failure, Field{"podGroupName", out.pod_group});
    }
    if (key == "hostNetwork") return Read(member, out.host_network, failure);
    if (key == "hostUsers") return Read(member, out.host_users, failure);
    if (key == "preemptionPolicy") {
      std::string policy;
      if (!Read(member, policy, failure)) return false;
      out.never_preempts = policy == "Never";
    }
    return true;
  });
}

bool Read(const element& value, PodStatus& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    if (key == "phase") return Read(member, out.phase, failure);
    if (key == "nominatedNodeName") return Read(member, out.nominated_node_name, failure);
    if (key == "conditions") return Read(member, out.conditions, failure);
    if (key == "startTime") return ReadTimestamp(member, out.start_time, failure);
    if (key == "containerStatuses") return Read(member, out.container_statuses, failure);
    if (key == "initContainerStatuses") return Read(member, out.init_container_statuses, failure);
    if (key == "resourceClaimStatuses") return Read(member, out.resource_claim_statuses, failure);
    if (key == "extendedResourceClaimStatus") return Read(member, out.extended_resource_claim, failure);
    if (key == "allocatedResources") return ReadIfAny(member, out.allocated_resources, failure);
    if (key == "resources") {
      out.has_resources = true;
      return ReadObject(member, failure, [&](std::string_view inner, const element& list) {
        return inner == "requests" ? ReadIfAny(list, out.resource_requests, failure) : true;
      });
    }
    return true;
  });
}

bool Read(const element& value, Pod& out, Failure& failure) {
  if (!ReadFields(value, failure, Field{"metadata", out.metadata}, Field{"spec", out.spec},
                  Field{"status", out.status})) {
    return false;
  }
  TrimConditions(out);
  return true;
}

}  // namespace berth::api::json
