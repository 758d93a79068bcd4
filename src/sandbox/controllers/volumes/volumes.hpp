// Claims and volumes find each other; volumes are made and unmade.
#pragma once

#include "sandbox/controllers/controller.hpp"

namespace berth::sandbox {

// The storage class that every cluster has: the default one, bound when the first pod is scheduled.
constexpr std::string_view kStandardClass = "standard";
constexpr std::string_view kProvisioner = "sandbox.berth.dev/provisioner";
// A storage class's annotation: "never" (the provisioner does not answer) or "fail" (it says that it cannot).
constexpr std::string_view kProvisioning = "sandbox.berth.dev/provisioning";

struct VolumeOptions {
  Duration provision_time = std::chrono::milliseconds(500);
};

// Follows kube-controller-manager v1.37's PV controller: static and dynamic provisioning, Immediate and
// WaitForFirstConsumer with the annotation volume.kubernetes.io/selected-node, claims bound beforehand from
// either side, default class given to claims without one, reclaim policies, phases, events. Every provisioner
// but kubernetes.io/no-provisioner is simulated. Claims and volumes in use are not protected from deletion.
// One thread.
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
  void NoteClaimsOf(const json::object& volume);
  void Emit(const Object& about, std::string_view type, std::string_view reason, const std::string& message,
            std::string_view component = "persistentvolume-controller");

  ControllerContext& context_;
  VolumeOptions options_;
  WorkQueue claims_, volumes_;
  std::set<std::string> unbound_;       // keys of claims that wait for a volume
  std::set<std::string> provisioning_;  // uids of claims
};

}  // namespace berth::sandbox
