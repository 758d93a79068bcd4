// The members of each kind, without kind and apiVersion; private to this module.
#pragma once

#include "kubernetes/api/json_writer.hpp"

namespace berth::api::json {

void AddMetadata(Members& members, const ObjectMeta& value);

void AddMembers(Members& members, const Pod& value);
void AddMembers(Members& members, const Node& value);
void AddMembers(Members& members, const Namespace& value);
void AddMembers(Members& members, const PersistentVolume& value);
void AddMembers(Members& members, const PersistentVolumeClaim& value);
void AddMembers(Members& members, const StorageClass& value);
void AddMembers(Members& members, const CSINode& value);
void AddMembers(Members& members, const CSIDriver& value);
void AddMembers(Members& members, const CSIStorageCapacity& value);
void AddMembers(Members& members, const VolumeAttachment& value);
void AddMembers(Members& members, const Service& value);
void AddMembers(Members& members, const ReplicationController& value);
void AddMembers(Members& members, const ReplicaSet& value);
void AddMembers(Members& members, const StatefulSet& value);
void AddMembers(Members& members, const PodDisruptionBudget& value);
void AddMembers(Members& members, const DeviceClass& value);
void AddMembers(Members& members, const ResourceClaim& value);
void AddMembers(Members& members, const ResourceSlice& value);
void AddMembers(Members& members, const DeviceTaintRule& value);
void AddMembers(Members& members, const PodGroup& value);
void AddMembers(Members& members, const CompositePodGroup& value);
void AddMembers(Members& members, const ElasticQuota& value);
void AddMembers(Members& members, const NodeResourceTopology& value);
void AddMembers(Members& members, const PriorityClass& value);

}  // namespace berth::api::json
