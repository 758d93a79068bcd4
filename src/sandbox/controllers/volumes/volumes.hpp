// Binds claims and volumes; provisions and deletes volumes.
#pragma once

#include "sandbox/controllers/controller.hpp"

namespace berth::sandbox {

// The default storage class of every cluster, with binding when the first pod is scheduled.
constexpr std::string_view kStandardClass = "standard";
constexpr std::string_view kProvisioner = "sandbox.berth.dev/provisioner";
// Annotation of a storage class: "never" (the provisioner never answers) or "fail" (provisioning fails).
constexpr std::string_view kProvisioning = "sandbox.berth.dev/provisioning";

struct VolumeOptions {
  Duration provision_time = std::chrono::milliseconds(500);
};

// Follows kube-controller-manager v1.37's PV controller: static and dynamic provisioning, Immediate and
// WaitForFirstConsumer with the annotation volume.kubernetes.io/selected-node, claims prebound from either
// side, the default class for claims without one, reclaim policies, phases, events. Every provisioner but
// kubernetes.io/no-provisioner is simulated. Claims and volumes in use are not protected from deletion. One
// thread.
class VolumeController final : public StoreObserver {
 public:
  VolumeController(ControllerContext& context, const VolumeOptions& options);
  void OnChange(const ResourceType& type, const Change& change) override;

 private:
  using Outcome = WorkQueue::Outcome;
  Outcome SyncClaim(const std::string& key);
  Outcome SyncVolume(const std::string& name);

  void AwaitVolume(const Object& claim, const json::object& document);
  ObjectPtr FindVolume(const Object& claim, const json::object& document, const std::string& class_name,
                       bool delayed) const;
  void Provision(const Object& claim, const json::object& document, const Object& storage_class);
  void CreateVolume(const std::string& claim_key, const std::string& uid);
  void Bind(const Object& claim, const Object& volume);
  void SetClaimPhase(const Object& claim, std::string_view phase, const json::object* volume);
  void SetVolumePhase(const Object& volume, std::string_view phase);
  ObjectPtr DefaultClass() const;
  void EnqueueClaimsOf(const json::object& volume);
  void Emit(const Object& about, std::string_view type, std::string_view reason, const std::string& message,
            std::string_view component = "persistentvolume-controller");

  ControllerContext& context_;
  VolumeOptions options_;
  WorkQueue claims_, volumes_;
  std::set<std::string> unbound_;       // keys of claims that wait for a volume
  std::set<std::string> provisioning_;  // uids of claims
};

}  // namespace berth::sandbox
