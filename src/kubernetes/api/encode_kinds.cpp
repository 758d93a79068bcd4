// All kinds but pods and those of resource.k8s.io, field by field.
#include "kubernetes/api/encode_kinds.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "kubernetes/api/volume_sources.hpp"

namespace berth::api::json {
// Not in an unnamed namespace: the writers of lists and optionals find these by argument-dependent lookup.

// --- nodes ---

void Write(Writer& to, const ContainerImage& value) {
  WriteFields(to, Member{"names", value.names}, Member{"sizeBytes", value.size_bytes});
}

void Write(Writer& to, const NodeCondition& value) {
  WriteFields(to, Member{"type", value.type}, Member{"status", value.status});
}

void Write(Writer& to, const NodeAddress& value) {
  WriteFields(to, Member{"type", value.type}, Member{"address", value.address});
}

void AddMembers(Members& members, const Node& value) {
  ObjectMeta metadata = value.metadata;
  if (value.annotations_digest != 0) {
    if (!metadata.annotations) metadata.annotations.emplace();
    metadata.annotations->Set("scheduling.berth.dev/annotations-digest",
                              std::to_string(value.annotations_digest));
  }
  const auto spec = [&](Writer& to) {
    WriteFields(to, Member{"unschedulable", value.unschedulable}, Member{"taints", value.taints});
  };
  const auto status = [&](Writer& to) {
    Members fields(to);
    if (value.allocatable_given) fields.Add(Required{"allocatable", value.allocatable});
    fields.Add(Member{"capacity", value.capacity})
        .Add(Member{"images", value.images})
        .Add(Member{"conditions", value.conditions})
        .Add(Member{"addresses", value.addresses})
        .Add(Member{"declaredFeatures", value.declared_features});
  };
  members.Add(Required{"metadata", metadata}).Add(Member{"spec", spec}).Add(Member{"status", status});
}

// --- storage ---

void Write(Writer& to, const PersistentVolume::ClaimRef& value) {
  WriteFields(to, Member{"namespace", value.ns}, Member{"name", value.name}, Member{"uid", value.uid});
}

void AddMembers(Members& members, const PersistentVolume& value) {
  const auto capacity = [&](Writer& to) { WriteFields(to, Member{"storage", value.storage}); };
  const auto* source =
      std::ranges::find(kPersistentVolumeSources, value.source, &PersistentVolumeSource::source);
  const auto volume = [&](Writer& to) {
    WriteFields(to, Member{"driver", value.driver}, Member{source->handle, value.volume_handle},
                Member{"kind", value.azure_kind});
  };
  const auto affinity = [&](Writer& to) { WriteFields(to, Member{"required", value.node_affinity}); };
  const auto spec = [&](Writer& to) {
    Members fields(to);
    fields.Add(Member{"capacity", capacity});
    if (source != kPersistentVolumeSources.end()) fields.Add(Required{source->member, volume});
    fields.Add(Member{"accessModes", value.access_modes})
        .Add(Member{"storageClassName", value.storage_class_name})
        .Add(Member{"volumeMode", value.volume_mode})
        .Add(Member{"volumeAttributesClassName", value.volume_attributes_class_name})
        .Add(Member{"claimRef", value.claim_ref})
        .Add(Member{"nodeAffinity", affinity});
  };
  const auto status = [&](Writer& to) { WriteFields(to, Member{"phase", value.phase}); };
  members.Add(Required{"metadata", value.metadata}).Add(Member{"spec", spec}).Add(Member{"status", status});
}

void AddMembers(Members& members, const PersistentVolumeClaim& value) {
  const auto requests = [&](Writer& to) { WriteFields(to, Member{"storage", value.storage}); };
  const auto resources = [&](Writer& to) { WriteFields(to, Member{"requests", requests}); };
  const auto spec = [&](Writer& to) {
    WriteFields(to, Member{"volumeName", value.volume_name},
                Member{"storageClassName", value.storage_class_name},
                Member{"accessModes", value.access_modes}, Member{"resources", resources},
                Member{"selector", value.selector}, Member{"volumeMode", value.volume_mode},
                Member{"volumeAttributesClassName", value.volume_attributes_class_name});
  };
  const auto status = [&](Writer& to) { WriteFields(to, Member{"phase", value.phase}); };
  members.Add(Required{"metadata", value.metadata}).Add(Member{"spec", spec}).Add(Member{"status", status});
}

void Write(Writer& to, const StorageClass::TopologyRequirement& value) {
  WriteFields(to, Member{"key", value.key}, Member{"values", value.values});
}

void AddMembers(Members& members, const StorageClass& value) {
  const auto topologies = [&](Writer& to) {
    AppendJsonList(to.out(), value.allowed_topologies,
                   [&](std::string&, const StorageClass::TopologyTerm& term) {
                     WriteFields(to, Member{"matchLabelExpressions", term});
                   });
  };
  members.Add(Required{"metadata", value.metadata})
      .Add(Member{"provisioner", value.provisioner})
      .Add(Member{"volumeBindingMode", value.volume_binding_mode});
  if (!value.allowed_topologies.empty()) members.Add(Required{"allowedTopologies", topologies});
}

void Write(Writer& to, const CSINode::Driver& value) {
  const auto allocatable = [&](Writer& w) { WriteFields(w, Member{"count", value.count}); };
  WriteFields(to, Member{"name", value.name}, Member{"allocatable", allocatable});
}

void AddMembers(Members& members, const CSINode& value) {
  const auto spec = [&](Writer& to) { WriteFields(to, Member{"drivers", value.drivers}); };
  members.Add(Required{"metadata", value.metadata}).Add(Member{"spec", spec});
}

void AddMembers(Members& members, const CSIDriver& value) {
  const auto spec = [&](Writer& to) {
    WriteFields(to, Member{"storageCapacity", value.storage_capacity},
                Member{"preventPodSchedulingIfMissing", value.prevent_pod_scheduling_if_missing});
  };
  members.Add(Required{"metadata", value.metadata}).Add(Member{"spec", spec});
}

void AddMembers(Members& members, const CSIStorageCapacity& value) {
  members.Add(Required{"metadata", value.metadata})
      .Add(Member{"storageClassName", value.storage_class_name})
      .Add(Member{"nodeTopology", value.node_topology})
      .Add(Member{"capacity", value.capacity})
      .Add(Member{"maximumVolumeSize", value.maximum_volume_size});
}

void AddMembers(Members& members, const VolumeAttachment& value) {
  const auto source = [&](Writer& to) {
    WriteFields(to, Member{"persistentVolumeName", value.persistent_volume_name});
  };
  const auto spec = [&](Writer& to) {
    WriteFields(to, Member{"attacher", value.attacher}, Member{"nodeName", value.node_name},
                Member{"source", source});
  };
  members.Add(Required{"metadata", value.metadata}).Add(Member{"spec", spec});
}

// --- workloads ---

void AddMembers(Members& members, const Namespace& value) {
  members.Add(Required{"metadata", value.metadata});
}

// Any kind with metadata and spec.selector, with any type of selector.
template <class T>
void AddSelecting(Members& members, const T& value) {
  const auto spec = [&](Writer& to) { WriteFields(to, Member{"selector", value.selector}); };
  members.Add(Required{"metadata", value.metadata}).Add(Member{"spec", spec});
}

void AddMembers(Members& members, const Service& value) { AddSelecting(members, value); }
void AddMembers(Members& members, const ReplicationController& value) { AddSelecting(members, value); }
void AddMembers(Members& members, const ReplicaSet& value) { AddSelecting(members, value); }
void AddMembers(Members& members, const StatefulSet& value) { AddSelecting(members, value); }

void AddMembers(Members& members, const PodDisruptionBudget& value) {
  const auto disrupted = [&](Writer& to) {
    const std::string time = "1970-01-01T00:00:00Z";  // only the names are known
    Members pods(to);
    for (const std::string& pod : value.disrupted_pods) pods.Add(Required{pod, time});
  };
  const auto status = [&](Writer& to) {
    WriteFields(to, Member{"disruptionsAllowed", value.disruptions_allowed},
                Member{"disruptedPods", disrupted});
  };
  AddSelecting(members, value);
  members.Add(Member{"status", status});
}

// --- pod groups ---

void Write(Writer& to, const PodGroupCondition& value) {
  WriteFields(to, Member{"type", value.type}, Member{"status", value.status}, Member{"reason", value.reason},
              Member{"message", value.message}, Member{"observedGeneration", value.observed_generation});
}

// `count` is the name of the field in schedulingPolicy.gang.
void AddGroup(Members& members, std::string_view count, const PodGroup& value) {
  BERTH_CHECK(value.external == nullptr, value.metadata.Key());
  const auto metadata = [&](Writer& to) {
    Members fields(to);
    AddMetadata(fields, value.metadata);
    fields.Add(Member{"creationTimestamp", value.creation_timestamp});
  };
  const auto gang = [&](Writer& to) { WriteFields(to, Required{count, value.gang->min_count}); };
  const auto policy = [&](Writer& to) {
    Members fields(to);
    if (value.gang) fields.Add(Required{"gang", gang});
  };
  const auto whole = [](Writer& to) { to.out() += R"({"all":{}})"; };
  const auto topology = [&](Writer& to) { WriteFields(to, Required{"key", value.topology_key}); };
  const auto constraints = [&](Writer& to) {
    to.out() += R"({"topology":[)";
    topology(to);
    to.out() += "]}";
  };
  const auto spec = [&](Writer& to) {
    Members fields(to);
    fields.Add(Member{"schedulingPolicy", policy})
        .Add(Member{"priority", value.priority})
        .Add(Member{"preemptionPolicy", value.preemption_policy});
    if (value.disrupted_as_a_unit) fields.Add(Required{"disruptionMode", whole});
    if (!value.topology_key.empty()) fields.Add(Required{"schedulingConstraints", constraints});
    fields.Add(Member{"parentCompositePodGroupName", value.parent})
        .Add(Member{"resourceClaims", value.resource_claims});
  };
  const auto status = [&](Writer& to) {
    WriteFields(to, Member{"conditions", value.conditions},
                Member{"resourceClaimStatuses", value.resource_claim_statuses});
  };
  members.Add(Required{"metadata", metadata}).Add(Member{"spec", spec}).Add(Member{"status", status});
}

void AddMembers(Members& members, const PodGroup& value) { AddGroup(members, "minCount", value); }
void AddMembers(Members& members, const CompositePodGroup& value) {
  AddGroup(members, "minGroupCount", value);
}

// --- elastic quotas ---

void AddMembers(Members& members, const ElasticQuota& value) {
  const auto spec = [&](Writer& to) {
    Members fields(to);
    if (value.min) fields.Add(Required{"min", *value.min});
    if (value.max) fields.Add(Required{"max", *value.max});
  };
  members.Add(Required{"metadata", value.metadata}).Add(Member{"spec", spec});
}

// --- topologies of nodes ---

void Write(Writer& to, const NodeResourceTopology::Attribute& value) {
  WriteFields(to, Required{"name", value.name}, Required{"value", value.value});
}

void Write(Writer& to, const NodeResourceTopology::Cost& value) {
  WriteFields(to, Required{"name", value.name}, Required{"value", value.value});
}

void Write(Writer& to, const NodeResourceTopology::Resource& value) {
  WriteFields(to, Required{"name", value.name}, Required{"available", value.available});
}

void Write(Writer& to, const NodeResourceTopology::Zone& value) {
  WriteFields(to, Required{"name", value.name}, Required{"type", value.type}, Member{"costs", value.costs},
              Member{"resources", value.resources});
}

void AddMembers(Members& members, const NodeResourceTopology& value) {
  members.Add(Required{"metadata", value.metadata})
      .Add(Member{"topologyPolicies", value.topology_policies})
      .Add(Member{"attributes", value.attributes})
      .Add(Member{"zones", value.zones});
}

// --- priority classes ---

void AddMembers(Members& members, const PriorityClass& value) {
  members.Add(Required{"metadata", value.metadata}).Add(Required{"value", value.value});
}

}  // namespace berth::api::json
