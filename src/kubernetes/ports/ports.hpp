// Ports: the interfaces between the scheduler loop and everything outside it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "kubernetes/api/objects.hpp"

namespace berth::ports {

// --- input: changes of the cluster ---

// One object was created (before is null), updated, or deleted (after is null).
template <class T>
struct Change {
  std::shared_ptr<const T> before;
  std::shared_ptr<const T> after;
};

// The variant of the changes of all kinds of a list.
template <class Kinds>
struct ChangeOfAny;
template <class... T>
struct ChangeOfAny<api::KindList<T...>> {
  using type = std::variant<Change<T>...>;
};
// A change of an object of any watched kind.
using ClusterChange = ChangeOfAny<api::AllKinds>::type;

// Receives the cluster's changes from a client, per kind in the order of their resource versions. May be
// called from any thread; only appends to a queue.
class ClusterSink {
 public:
  virtual ~ClusterSink() = default;
  virtual void On(ClusterChange change) = 0;
  // Everything that existed when the client started has been delivered; scheduling may begin.
  virtual void OnSynced() = 0;
};

// --- output: writes of the scheduler ---

// Binds a pod to a node.
struct Binding {
  std::string ns, name, uid;  // the API server rejects the binding if the pod was deleted and recreated since
  std::string node;
};

// A condition (PodScheduled=False by default), the nomination, or both. Written as a strategic merge patch of
// pods/status without a precondition, as in kube-scheduler. Nothing is sent if nothing would change.
struct PodStatusPatch {
  std::string ns, name;
  std::string type = "PodScheduled";
  std::string status = "False";
  std::string reason = {};   // Unschedulable or SchedulerError; empty: the condition is unchanged
  std::string message = {};  // never truncated
  std::int64_t observed_generation = 0;
  api::PodPtr current = {};  // the last known version of the pod; the patch contains the difference to it
  // A nomination that was written after `current`; empty: none.
  std::string written_nomination = {};
  // status.nominatedNodeName; nullopt: unchanged; empty: cleared.
  std::optional<std::string> nomination = {};
  // status.extendedResourceClaimStatus; nullopt: unchanged.
  std::optional<api::ExtendedResourceClaimStatus> extended_resource_claim = {};
};

// The uid protects a pod that was recreated with the same name.
struct PodDeletion {
  std::string ns, name, uid;
};

// Binds a volume to a claim. Sent as a merge patch of the volume with its resource version as precondition:
// if the volume has changed since, the result is kConflict.
struct VolumeClaimed {
  struct Claim {
    std::string ns, name, uid, resource_version;
  };
  std::string name, resource_version;
  std::optional<Claim> claim;        // nullopt: nothing is changed, only the resource version is checked
  bool bound_by_controller = false;  // sets the annotation pv.kubernetes.io/bound-by-controller: yes
};

// Sets the annotation volume.kubernetes.io/selected-node of a claim, with the same precondition. The
// provisioner then starts to create the volume.
struct NodeSelected {
  std::string ns, name, resource_version;
  std::string node;
};

// A change of a ResourceClaim. Sent as a merge patch with the resource version as precondition: if the claim
// has changed since, the result is kConflict.
struct ClaimChange {
  struct SetFinalizers {
    std::vector<std::string> finalizers;
  };
  // Sets the consumers, and the allocation if the claim has none yet.
  struct Reserve {
    std::shared_ptr<const api::ResourceClaim::Allocation> allocation;  // null: unchanged
    bool set_timestamp = false;                                        // allocationTimestamp: now
    std::vector<api::ResourceClaim::Consumer> consumers;               // all of them
  };
  // Removes the allocation, the consumers and the status of the devices.
  struct Deallocate {};
  // Removes one consumer. A strategic merge patch without a precondition other than the claim's UID.
  struct Release {
    std::string claim_uid;
    std::string consumer_uid;
  };

  std::string ns, name, resource_version;
  std::variant<SetFinalizers, Reserve, Deallocate, Release> change;
};

// A ResourceClaim for extended resources of a pod, which owns it. The API server completes the name.
struct NewClaim {
  std::string ns, generate_name;
  std::string pod_name, pod_uid;
  std::vector<api::ResourceClaim::Request> requests;  // exactly, with class and count only
};
struct CreatedClaim {
  std::string name, uid, resource_version;
};
// The uid protects a claim that was created again with the same name.
struct ClaimDeletion {
  std::string ns, name, uid;
};

// A condition of a PodGroup. Written as a strategic merge patch of podgroups/status without a precondition,
// as in kube-scheduler. Nothing is sent if nothing would change.
struct PodGroupStatusPatch {
  api::PodGroupPtr current;  // the last known version; the patch contains the difference to it
  api::PodGroupCondition condition;
};

// Called once, from any thread.
using ClaimDone = std::move_only_function<void(Expected<CreatedClaim>)>;
// Called once, from any thread, with the object's new resource version.
using VersionDone = std::move_only_function<void(Expected<std::string>)>;
// Called once, from any thread.
using WriteDone = std::move_only_function<void(Expected<void>)>;

// Writes to the API server. Methods return immediately; every write has a deadline and ends with a call of
// `done`.
class ApiWriter {
 public:
  virtual ~ApiWriter() = default;
  // POST pods/<name>/binding. If the response was lost, the pod is read to determine the result before `done`
  // is called.
  virtual void Bind(Binding binding, WriteDone done) = 0;
  virtual void PatchPodStatus(PodStatusPatch patch, WriteDone done) = 0;
  // DELETE pods/<name> with the pod's own grace period. kNotFound: the pod no longer existed.
  virtual void DeletePod(PodDeletion deletion, WriteDone done) = 0;
  virtual void ClaimVolume(VolumeClaimed write, VersionDone done) = 0;
  virtual void SelectNode(NodeSelected write, VersionDone done) = 0;
  virtual void ChangeClaim(ClaimChange change, VersionDone done) = 0;
  // Not repeated if the response was lost: the claim may then exist.
  virtual void CreateClaim(NewClaim claim, ClaimDone done) = 0;
  // kNotFound: the claim no longer existed.
  virtual void DeleteClaim(ClaimDeletion deletion, WriteDone done) = 0;
  virtual void PatchPodGroupStatus(PodGroupStatusPatch patch, WriteDone done) = 0;
};

// Another object, as events name it.
struct ObjectReference {
  std::string_view kind, api_version;  // string literals
  std::string ns, name, uid, resource_version;
};
// `group_version`: a string literal, for example "v1".
template <class T>
ObjectReference ReferenceTo(const T& object, std::string_view group_version) {
  const api::ObjectMeta& meta = object.metadata;
  return {T::kKind, group_version, meta.ns.str(), meta.name, meta.uid, meta.resource_version};
}

// An event of the API (events.k8s.io/v1), without the series that the sink forms.
struct Event {
  enum class Type { kNormal, kWarning };
  Type type = Type::kNormal;
  std::string reason;      // Scheduled, FailedScheduling, Preempted
  std::string action;      // Binding, Scheduling, Preempting
  std::string note;        // truncated to 1024 bytes when it is sent
  std::string controller;  // reportingController: the profile's schedulerName
  api::PodPtr regarding;
  std::optional<ObjectReference> related = {};  // the other object of the event, if there is one
  bool routine = false;                         // nothing unusual: may be left out
};

// Events for users. The queue is bounded; under pressure events are dropped and counted. Never blocks.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void Emit(Event event) = 0;
};

}  // namespace berth::ports
