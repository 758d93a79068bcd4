// Volumes, claims and storage objects: the fields that VolumeBinding, VolumeZone, VolumeRestrictions and
// NodeVolumeLimits read (v1.37). meta.hpp describes the conventions for all objects.
#pragma once

#include "kubernetes/api/meta.hpp"

namespace berth::api {

struct PersistentVolume {
  static constexpr std::string_view kKind = "PersistentVolume";
  static constexpr bool kNamespaced = false;
  // The volume source, if scheduling depends on it: CSI, and in-tree sources that are migrated to CSI.
  enum class Source : std::uint8_t {
    kOther,
    kCsi,                   // driver and volume_handle
    kGcePersistentDisk,     // volume_handle: pdName
    kAwsElasticBlockStore,  // volume_handle: volumeID
    kAzureDisk,             // volume_handle: diskURI
    kCinder,                // volume_handle: volumeID
    kPortworx,              // volume_handle: volumeID
  };
  struct ClaimRef {
    std::string ns, name, uid;
    friend bool operator==(const ClaimRef&, const ClaimRef&) = default;
  };

  ObjectMeta metadata;
  Source source = Source::kOther;
  std::string driver;
  std::string volume_handle;
  CowPtr<std::string> azure_kind;  // kAzureDisk, if set: Shared, Dedicated, Managed
  Quantity storage;                // capacity.storage
  std::vector<std::string> access_modes;
  std::string storage_class_name;  // the beta annotation wins, see StorageClassOf
  std::string volume_mode;         // Filesystem, Block; empty means Filesystem
  std::string volume_attributes_class_name;
  CowPtr<ClaimRef> claim_ref;
  CowPtr<NodeSelector> node_affinity;  // required
  std::string phase;                   // Available, Bound, Released, ...
};

struct PersistentVolumeClaim {
  static constexpr std::string_view kKind = "PersistentVolumeClaim";
  static constexpr bool kNamespaced = true;
  ObjectMeta metadata;
  std::string volume_name;
  std::optional<std::string> storage_class_name;  // the beta annotation wins, see StorageClassOf
  std::vector<std::string> access_modes;
  std::optional<Quantity> storage;  // resources.requests.storage
  CowPtr<LabelSelector> selector;
  std::string volume_mode;  // Filesystem, Block; empty means Filesystem
  std::string volume_attributes_class_name;
  std::string phase;  // Pending, Bound, Lost
};

// The name of the storage class: the annotation volume.beta.kubernetes.io/storage-class, else the field;
// empty if neither is set.
std::string StorageClassOf(const PersistentVolume& volume);
std::string StorageClassOf(const PersistentVolumeClaim& claim);

struct StorageClass {
  static constexpr std::string_view kKind = "StorageClass";
  static constexpr bool kNamespaced = false;
  struct TopologyRequirement {
    std::string key;
    std::vector<std::string> values;
    friend bool operator==(const TopologyRequirement&, const TopologyRequirement&) = default;
  };
  using TopologyTerm = std::vector<TopologyRequirement>;  // ANDed

  ObjectMeta metadata;
  std::string provisioner;
  std::string volume_binding_mode;               // Immediate, WaitForFirstConsumer; empty: not set
  std::vector<TopologyTerm> allowed_topologies;  // ORed; none: everywhere
};

struct CSINode {
  static constexpr std::string_view kKind = "CSINode";
  static constexpr bool kNamespaced = false;
  struct Driver {
    std::string name;
    std::optional<std::int32_t> count;  // allocatable.count
  };
  ObjectMeta metadata;
  std::vector<Driver> drivers;
};

struct CSIDriver {
  static constexpr std::string_view kKind = "CSIDriver";
  static constexpr bool kNamespaced = false;
  ObjectMeta metadata;
  bool storage_capacity = false;
  bool prevent_pod_scheduling_if_missing = false;
};

struct CSIStorageCapacity {
  static constexpr std::string_view kKind = "CSIStorageCapacity";
  static constexpr bool kNamespaced = true;
  ObjectMeta metadata;
  std::string storage_class_name;
  CowPtr<LabelSelector> node_topology;  // absent: nowhere
  std::optional<Quantity> capacity;
  std::optional<Quantity> maximum_volume_size;
};

struct VolumeAttachment {
  static constexpr std::string_view kKind = "VolumeAttachment";
  static constexpr bool kNamespaced = false;
  ObjectMeta metadata;
  std::string attacher;
  std::string node_name;
  std::optional<std::string> persistent_volume_name;  // source.persistentVolumeName
};

}  // namespace berth::api
