// Builders of volumes, claims and related objects. See builders.hpp.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "testing/builders.hpp"

namespace berth::testing {

// A volume of CSI driver "csi.example.com": available, 10Gi, ReadWriteOnce, class "fast".
class VolumeBuilder {
 public:
  explicit VolumeBuilder(std::string name) {
    volume_.metadata.name = name;
    volume_.metadata.resource_version = "1";
    volume_.source = api::PersistentVolume::Source::kCsi;
    volume_.driver = "csi.example.com";
    volume_.volume_handle = "handle-of-" + name;
    volume_.storage = Amount("10Gi");
    volume_.access_modes = {"ReadWriteOnce"};
    volume_.storage_class_name = "fast";
    volume_.phase = "Available";
  }
  VolumeBuilder& Csi(std::string driver, std::string handle) {
    volume_.driver = std::move(driver);
    volume_.volume_handle = std::move(handle);
    return *this;
  }
  VolumeBuilder& InTree(api::PersistentVolume::Source source, std::string id) {
    volume_.source = source;
    volume_.driver.clear();
    volume_.volume_handle = std::move(id);
    return *this;
  }
  VolumeBuilder& Size(std::string_view amount) {
    volume_.storage = Amount(amount);
    return *this;
  }
  VolumeBuilder& Class(std::string name) {
    volume_.storage_class_name = std::move(name);
    return *this;
  }
  VolumeBuilder& Label(std::string key, std::string value) {
    volume_.metadata.labels.Set(std::move(key), std::move(value));
    return *this;
  }
  VolumeBuilder& Reached(std::vector<api::NodeSelectorTerm> terms) {  // its node affinity
    volume_.node_affinity = api::NodeSelector{std::move(terms)};
    return *this;
  }
  VolumeBuilder& ReachedFrom(std::string key, std::vector<std::string> values) {
    return Reached({Term({{std::move(key), "In", std::move(values)}})});
  }
  VolumeBuilder& ClaimedBy(std::string claim, std::string uid = "") {
    volume_.claim_ref = api::PersistentVolume::ClaimRef{"default", std::move(claim), std::move(uid)};
    return *this;
  }
  operator api::PersistentVolume() const { return volume_; }  // implicit on purpose
  api::PersistentVolume& raw() { return volume_; }

 private:
  api::PersistentVolume volume_;
};
inline VolumeBuilder MakeVolume(std::string name) { return VolumeBuilder(std::move(name)); }

// A claim in namespace "default": unbound, class "fast", 5Gi, ReadWriteOnce.
class ClaimBuilder {
 public:
  explicit ClaimBuilder(std::string name) {
    claim_.metadata.name = name;
    claim_.metadata.ns = "default";
    claim_.metadata.uid = "uid-of-" + name;
    claim_.metadata.resource_version = "1";
    claim_.storage_class_name = "fast";
    claim_.storage = Amount("5Gi");
    claim_.access_modes = {"ReadWriteOnce"};
    claim_.phase = "Pending";
  }
  ClaimBuilder& BoundTo(std::string volume) {
    claim_.volume_name = std::move(volume);
    claim_.phase = "Bound";
    return Annotation("pv.kubernetes.io/bind-completed", "yes");
  }
  ClaimBuilder& Annotation(std::string key, std::string value) {
    if (!claim_.metadata.annotations) claim_.metadata.annotations.emplace();
    claim_.metadata.annotations->Set(std::move(key), std::move(value));
    return *this;
  }
  ClaimBuilder& Class(std::string name) {
    claim_.storage_class_name = std::move(name);
    return *this;
  }
  ClaimBuilder& Size(std::string_view amount) {
    claim_.storage = Amount(amount);
    return *this;
  }
  ClaimBuilder& Modes(std::vector<std::string> modes) {
    claim_.access_modes = std::move(modes);
    return *this;
  }
  ClaimBuilder& OwnedBy(const std::string& pod_uid) {
    claim_.metadata.controller = api::OwnerReference{"v1", "Pod", "", pod_uid};
    return *this;
  }
  operator api::PersistentVolumeClaim() const { return claim_; }  // implicit on purpose
  api::PersistentVolumeClaim& raw() { return claim_; }

 private:
  api::PersistentVolumeClaim claim_;
};
inline ClaimBuilder MakeClaim(std::string name) { return ClaimBuilder(std::move(name)); }

// With binding mode WaitForFirstConsumer, provisioned by "csi.example.com".
inline api::StorageClass MakeClass(std::string name = "fast", std::string provisioner = "csi.example.com") {
  api::StorageClass storage_class;
  storage_class.metadata.name = std::move(name);
  storage_class.provisioner = std::move(provisioner);
  storage_class.volume_binding_mode = "WaitForFirstConsumer";
  return storage_class;
}

inline api::CSINode MakeCsiNode(std::string node, std::vector<api::CSINode::Driver> drivers) {
  api::CSINode csi_node;
  csi_node.metadata.name = std::move(node);
  csi_node.drivers = std::move(drivers);
  return csi_node;
}

inline api::VolumeAttachment MakeAttachment(std::string name, std::string node, std::string volume,
                                            std::string attacher = "csi.example.com") {
  api::VolumeAttachment attachment;
  attachment.metadata.name = std::move(name);
  attachment.node_name = std::move(node);
  attachment.attacher = std::move(attacher);
  attachment.persistent_volume_name = std::move(volume);
  return attachment;
}

inline api::Volume ClaimVolume(std::string claim) {
  api::Volume volume;
  volume.name = "of-" + claim;
  volume.source = api::Volume::Source::kPersistentVolumeClaim;
  volume.id = std::move(claim);
  return volume;
}
// A volume whose claim is "<pod>-<name>".
inline api::Volume EphemeralVolume(std::string name) {
  api::Volume volume;
  volume.name = std::move(name);
  volume.source = api::Volume::Source::kEphemeral;
  return volume;
}
inline api::Volume DiskVolume(api::Volume::Source source, std::string id, bool read_only = false) {
  api::Volume volume;
  volume.name = "disk";
  volume.source = source;
  volume.id = std::move(id);
  volume.read_only = read_only;
  return volume;
}
inline PodBuilder& WithVolume(PodBuilder& pod, api::Volume volume) {
  pod.raw().spec.volumes.push_back(std::move(volume));
  return pod;
}
inline PodBuilder PodWith(std::string name, std::vector<api::Volume> volumes) {
  PodBuilder pod = MakePod(std::move(name));
  for (api::Volume& volume : volumes) WithVolume(pod, std::move(volume));
  return pod;
}

}  // namespace berth::testing
