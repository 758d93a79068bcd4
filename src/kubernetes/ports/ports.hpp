// The world as the engine sees it: everything outside the scheduler loop stands behind one of these.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kubernetes/api/objects.hpp"
#include "base/result.hpp"

namespace berth::ports {

// --- inward: what happens to the cluster
// ----------------------------------------------------------------------

// One object appeared (before is null), changed, or went (after is null).
template <class T>
struct Change {
  std::shared_ptr<const T> before;
  std::shared_ptr<const T> after;
};

// Where a client delivers the cluster's changes, in the order in which the API server made them (per kind).
// Safe to call from any thread; never blocks for longer than it takes to append.
class ClusterSink {
 public:
  virtual ~ClusterSink() = default;
  virtual void On(Change<api::Pod> change) = 0;
  virtual void On(Change<api::Node> change) = 0;
  virtual void On(Change<api::Namespace> change) = 0;
  virtual void On(Change<api::PersistentVolume> change) = 0;
  virtual void On(Change<api::PersistentVolumeClaim> change) = 0;
  virtual void On(Change<api::StorageClass> change) = 0;
  virtual void On(Change<api::CSINode> change) = 0;
  virtual void On(Change<api::CSIDriver> change) = 0;
  virtual void On(Change<api::CSIStorageCapacity> change) = 0;
  virtual void On(Change<api::VolumeAttachment> change) = 0;
  virtual void On(Change<api::Service> change) = 0;
  virtual void On(Change<api::ReplicationController> change) = 0;
  virtual void On(Change<api::ReplicaSet> change) = 0;
  virtual void On(Change<api::StatefulSet> change) = 0;
  virtual void On(Change<api::PodDisruptionBudget> change) = 0;
  virtual void On(Change<api::DeviceClass> change) = 0;
  virtual void On(Change<api::ResourceClaim> change) = 0;
  virtual void On(Change<api::ResourceSlice> change) = 0;
  virtual void On(Change<api::DeviceTaintRule> change) = 0;
  // Everything that existed when the client started has been delivered: deciding may begin.
  virtual void OnSynced() = 0;
};

// --- outward: what a scheduler writes
// ------------------------------------------------------------------------

struct Binding {
  std::string ns, name, uid;  // the uid makes the API server refuse a pod that was deleted and created again
  std::string node;
};

// A condition (PodScheduled=False if nothing else is said), the nomination, or both. Written as a strategic
// merge patch of pods/status, without precondition, as kube-scheduler does; nothing is sent if nothing would
// change.
struct PodStatusPatch {
  std::string ns, name;
  std::string type = "PodScheduled";
  std::string status = "False";
  std::string reason = {};   // Unschedulable or SchedulerError; empty: the condition is left alone
  std::string message = {};  // whole, never truncated
  std::int64_t observed_generation = 0;
  api::PodPtr current = {};  // what the pod looked like; decides what the patch must contain
  std::optional<std::string> nomination =
      {};  // status.nominatedNodeName; empty text clears it, nothing keeps it
};

// The uid keeps a pod alive that was created again under the name.
struct PodDeletion {
  std::string ns, name, uid;
};

// A volume is bound to a claim, as a merge patch of the volume that only the version it was decided on takes:
// somebody else's binding answers kConflict.
struct VolumeClaimed {
  struct Claim {
    std::string ns, name, uid, resource_version;
  };
  std::string name, resource_version;
  std::optional<Claim> claim;        // nothing: the volume is as it shall be, only its version is checked
  bool bound_by_controller = false;  // the annotation pv.kubernetes.io/bound-by-controller: yes
};

// The annotation volume.kubernetes.io/selected-node of a claim, in the same way: whoever makes its volume
// begins.
struct NodeSelected {
  std::string ns, name, resource_version;
  std::string node;
};

// Called once, from any thread, with the object's new version.
using VersionDone = std::move_only_function<void(Expected<std::string>)>;
// Called once, from any thread.
using WriteDone = std::move_only_function<void(Expected<void>)>;

// Writes to the API server. Calls return at once; every write has a deadline and ends by calling `done`.
class ApiWriter {
 public:
  virtual ~ApiWriter() = default;
  // POST pods/<name>/binding. An answer that was lost is settled by reading the pod before `done` is told.
  virtual void Bind(Binding binding, WriteDone done) = 0;
  virtual void PatchPodStatus(PodStatusPatch patch, WriteDone done) = 0;
  // DELETE pods/<name> with the pod's own grace period. kNotFound: it was gone before.
  virtual void DeletePod(PodDeletion deletion, WriteDone done) = 0;
  virtual void ClaimVolume(VolumeClaimed write, VersionDone done) = 0;
  virtual void SelectNode(NodeSelected write, VersionDone done) = 0;
};

struct Event {
  enum class Type { kNormal, kWarning };
  Type type = Type::kNormal;
  std::string reason;      // Scheduled, FailedScheduling, Preempted
  std::string action;      // Binding, Scheduling, Preempting
  std::string note;        // cut to 1024 bytes when it is sent
  std::string controller;  // reportingController: the profile's schedulerName
  api::PodPtr regarding;
  api::PodPtr related = {};  // the other pod it is about, if there is one
};

// Events are for people: a bounded queue, dropped first under pressure, and counted. Never blocks.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void Emit(Event event) = 0;
};

}  // namespace berth::ports
