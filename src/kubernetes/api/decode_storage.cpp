// Volumes, claims and storage objects, field by field.
#include <algorithm>

#include "kubernetes/api/json_reader.hpp"
#include "kubernetes/api/volume_sources.hpp"

namespace berth::api {
namespace {

constexpr std::string_view kBetaStorageClass = "volume.beta.kubernetes.io/storage-class";

}  // namespace

std::string StorageClassOf(const PersistentVolume& volume) {
  const std::string* beta = volume.metadata.Annotation(kBetaStorageClass);
  return beta != nullptr ? *beta : volume.storage_class_name;
}

std::string StorageClassOf(const PersistentVolumeClaim& claim) {
  const std::string* beta = claim.metadata.Annotation(kBetaStorageClass);
  return beta != nullptr ? *beta : claim.storage_class_name.value_or("");
}

namespace json {
// Not in an unnamed namespace: the readers of lists and optionals find these by argument-dependent lookup.

bool Read(const element& value, PersistentVolume::ClaimRef& out, Failure& failure) {
  return ReadFields(value, failure, Field{"namespace", out.ns}, Field{"name", out.name},
                    Field{"uid", out.uid});
}

bool ReadVolumeSpec(const element& value, PersistentVolume& out, Failure& failure) {
  const auto capacity = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"storage", out.storage});
  };
  const auto affinity = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"required", out.node_affinity});
  };
  return ReadObject(value, failure,
                    [&](std::string_view key, const element& member) {
                      const auto* source =
                          std::ranges::find(kPersistentVolumeSources, key, &PersistentVolumeSource::member);
                      if (source == kPersistentVolumeSources.end()) return true;
                      out.source = source->source;
                      return ReadFields(member, failure, Field{"driver", out.driver},
                                        Field{source->handle, out.volume_handle},
                                        Field{"kind", out.azure_kind});
                    }) &&
         ReadFields(value, failure, Field{"capacity", capacity}, Field{"accessModes", out.access_modes},
                    Field{"storageClassName", out.storage_class_name}, Field{"volumeMode", out.volume_mode},
                    Field{"volumeAttributesClassName", out.volume_attributes_class_name},
                    Field{"claimRef", out.claim_ref}, Field{"nodeAffinity", affinity});
}

bool Read(const element& value, PersistentVolume& out, Failure& failure) {
  return ReadFields(
      value, failure, Field{"metadata", out.metadata},
      Nested{"spec", [&](const element& spec, Failure& f) { return ReadVolumeSpec(spec, out, f); }},
      Nested{"status", [&](const element& status, Failure& f) {
               return ReadFields(status, f, Field{"phase", out.phase});
             }});
}

bool ReadClaimSpec(const element& value, PersistentVolumeClaim& out, Failure& failure) {
  const auto requests = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"storage", out.storage});
  };
  const auto resources = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"requests", requests});
  };
  return ReadFields(value, failure, Field{"volumeName", out.volume_name},
                    Field{"storageClassName", out.storage_class_name}, Field{"accessModes", out.access_modes},
                    Field{"resources", resources}, Field{"selector", out.selector},
                    Field{"volumeMode", out.volume_mode},
                    Field{"volumeAttributesClassName", out.volume_attributes_class_name});
}

bool Read(const element& value, PersistentVolumeClaim& out, Failure& failure) {
  return ReadFields(
      value, failure, Field{"metadata", out.metadata},
      Nested{"spec", [&](const element& spec, Failure& f) { return ReadClaimSpec(spec, out, f); }},
      Nested{"status", [&](const element& status, Failure& f) {
               return ReadFields(status, f, Field{"phase", out.phase});
             }});
}

bool Read(const element& value, StorageClass::TopologyRequirement& out, Failure& failure) {
  return ReadFields(value, failure, Field{"key", out.key}, Field{"values", out.values});
}

bool Read(const element& value, StorageClass& out, Failure& failure) {
  const auto topologies = [&](const element& list, Failure& f) {
    return ReadItems(list, f, [&](const element& term) {
      return ReadFields(term, f, Field{"matchLabelExpressions", out.allowed_topologies.emplace_back()});
    });
  };
  return ReadFields(value, failure, Field{"metadata", out.metadata}, Field{"provisioner", out.provisioner},
                    Field{"volumeBindingMode", out.volume_binding_mode},
                    Field{"allowedTopologies", topologies});
}

bool Read(const element& value, CSINode::Driver& out, Failure& failure) {
  const auto allocatable = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"count", out.count});
  };
  return ReadFields(value, failure, Field{"name", out.name}, Field{"allocatable", allocatable});
}

bool Read(const element& value, CSINode& out, Failure& failure) {
  const auto spec = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"drivers", out.drivers});
  };
  return ReadFields(value, failure, Field{"metadata", out.metadata}, Field{"spec", spec});
}

bool Read(const element& value, CSIDriver& out, Failure& failure) {
  const auto spec = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"storageCapacity", out.storage_capacity},
                      Field{"preventPodSchedulingIfMissing", out.prevent_pod_scheduling_if_missing});
  };
  return ReadFields(value, failure, Field{"metadata", out.metadata}, Field{"spec", spec});
}

bool Read(const element& value, CSIStorageCapacity& out, Failure& failure) {
  return ReadFields(value, failure, Field{"metadata", out.metadata},
                    Field{"storageClassName", out.storage_class_name},
                    Field{"nodeTopology", out.node_topology}, Field{"capacity", out.capacity},
                    Field{"maximumVolumeSize", out.maximum_volume_size});
}

bool Read(const element& value, VolumeAttachment& out, Failure& failure) {
  const auto source = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"persistentVolumeName", out.persistent_volume_name});
  };
  const auto spec = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"attacher", out.attacher}, Field{"nodeName", out.node_name},
                      Field{"source", source});
  };
  return ReadFields(value, failure, Field{"metadata", out.metadata}, Field{"spec", spec});
}

}  // namespace json
}  // namespace berth::api
