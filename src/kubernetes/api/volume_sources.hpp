// The kinds of volumes that scheduling depends on, and the members of the API that hold them; private to this
// module.
#pragma once

#include <array>
#include <string_view>

#include "kubernetes/api/pod.hpp"
#include "kubernetes/api/storage.hpp"

namespace berth::api::json {

// `id` is the field of Volume::id; most sources have only that and readOnly.
struct PodVolumeSource {
  std::string_view member;
  Volume::Source source;
  std::string_view id;
};
inline constexpr std::array<PodVolumeSource, 11> kPodVolumeSources = {{
    {"persistentVolumeClaim", Volume::Source::kPersistentVolumeClaim, "claimName"},
    {"csi", Volume::Source::kCsi, "driver"},
    {"gcePersistentDisk", Volume::Source::kGcePersistentDisk, "pdName"},
    {"awsElasticBlockStore", Volume::Source::kAwsElasticBlockStore, "volumeID"},
    {"azureDisk", Volume::Source::kAzureDisk, "diskURI"},
    {"cinder", Volume::Source::kCinder, "volumeID"},
    {"portworxVolume", Volume::Source::kPortworx, "volumeID"},
    {"azureFile", Volume::Source::kAzureFile, "shareName"},
    {"vsphereVolume", Volume::Source::kVsphere, "volumePath"},
    {"iscsi", Volume::Source::kIscsi, "iqn"},
    {"rbd", Volume::Source::kRbd, "image"},
}};

// `handle` is the field of PersistentVolume::volume_handle.
struct PersistentVolumeSource {
  std::string_view member;
  PersistentVolume::Source source;
  std::string_view handle;
};
inline constexpr std::array<PersistentVolumeSource, 6> kPersistentVolumeSources = {{
    {"csi", PersistentVolume::Source::kCsi, "volumeHandle"},
    {"gcePersistentDisk", PersistentVolume::Source::kGcePersistentDisk, "pdName"},
    {"awsElasticBlockStore", PersistentVolume::Source::kAwsElasticBlockStore, "volumeID"},
    {"azureDisk", PersistentVolume::Source::kAzureDisk, "diskURI"},
    {"cinder", PersistentVolume::Source::kCinder, "volumeID"},
    {"portworxVolume", PersistentVolume::Source::kPortworx, "volumeID"},
}};

}  // namespace berth::api::json
