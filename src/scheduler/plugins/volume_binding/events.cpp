// Queueing hints of VolumeBinding.
#include <algorithm>

#include "scheduler/plugins/volume_binding/volume_binding.hpp"

namespace berth::plugins {
namespace {

using cluster::PodInfo;
using framework::Hint;

Hint AfterClass(const cluster::PodInfo&, const api::StorageClass* before, const api::StorageClass* after) {
  return framework::QueueIf(before == nullptr || before->allowed_topologies != after->allowed_topologies);
}

Hint AfterClaim(const cluster::PodInfo& waiting, const api::PersistentVolumeClaim*,
                const api::PersistentVolumeClaim* after) {
  return framework::QueueIf(cluster::ReferencesClaim(*waiting.pod, *after));
}

Hint AfterCsiNode(const cluster::PodInfo&, const api::CSINode* before, const api::CSINode* after) {
  if (before == nullptr) return Hint::kQueue;
  const auto migrated = [](const api::CSINode& node) {
    const std::string* list = node.metadata.Annotation("storage.alpha.kubernetes.io/migrated-plugins");
    return list == nullptr ? std::string() : *list;
  };
  return framework::QueueIf(migrated(*before) != migrated(*after));
}

Hint AfterDriver(const cluster::PodInfo& waiting, const api::CSIDriver* before, const api::CSIDriver* after) {
  const bool uses = std::ranges::any_of(waiting.pod->spec.volumes, [&](const api::Volume& volume) {
    return volume.source == api::Volume::Source::kCsi && volume.id == after->metadata.name;
  });
  return framework::QueueIf(uses && before->storage_capacity && !after->storage_capacity);
}

Hint AfterCapacity(const cluster::PodInfo&, const api::CSIStorageCapacity* before,
                   const api::CSIStorageCapacity* after) {
  if (before == nullptr) return Hint::kQueue;
  const auto limit = [](const api::CSIStorageCapacity& capacity) {
    return capacity.maximum_volume_size ? capacity.maximum_volume_size : capacity.capacity;
  };
  const auto old_limit = limit(*before);
  const auto new_limit = limit(*after);
  return framework::QueueIf(new_limit && (!old_limit || new_limit->Value() > old_limit->Value()));
}

}  // namespace

std::vector<framework::EventRegistration> VolumeBinding::EventsToRegister() const {
  using namespace framework;
  return {
      When<api::StorageClass>(EventResource::kStorageClass, kAdd | kUpdate, AfterClass),
      When<api::PersistentVolumeClaim>(EventResource::kPersistentVolumeClaim, kAdd | kUpdate, AfterClaim),
      {EventResource::kPersistentVolume, kAdd | kUpdate},
      {EventResource::kNode, kAdd | kUpdateNodeLabel},
      When<api::CSINode>(EventResource::kCSINode, kAdd | kUpdate, AfterCsiNode),
      When<api::CSIDriver>(EventResource::kCSIDriver, kUpdate, AfterDriver),
      When<api::CSIStorageCapacity>(EventResource::kCSIStorageCapacity, kAdd | kUpdate, AfterCapacity),
  };
}

}  // namespace berth::plugins
