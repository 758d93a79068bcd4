// The binding of one pod's volumes: writes to the API server, then checks until all are bound.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/plugins/volume_binding/pod_claims.hpp"

namespace berth::plugins {

// Drops the assumed object if it is based on this version, not a later one.
void DropAssumption(cluster::ClusterObjects& objects, const api::PersistentVolume& volume);
void DropAssumption(cluster::ClusterObjects& objects, const api::PersistentVolumeClaim& claim);

// Writes volumes and then claims, one after the other; the provisioner and the volume controller do the rest.
// Then the state received from the API server is checked every second, first after one second. Keeps itself
// alive until it has called `answer`. Scheduler loop only.
class BindingRun : public std::enable_shared_from_this<BindingRun> {
 public:
  static void Start(framework::Handle& handle, const framework::Placement& placement,
                    std::shared_ptr<PodClaims> claims, Duration timeout, std::stop_token stop,
                    framework::StatusCallback answer);

  BindingRun(framework::Handle& handle, const framework::Placement& placement,
             std::shared_ptr<PodClaims> claims, Duration timeout, std::stop_token stop,
             framework::StatusCallback answer);

 private:
  void WriteNext();
  void Written(Expected<std::string> version);
  void Wait(Duration passed);
  void StopWaiting();
  void Finish(framework::Status status);

  // False: not everything is bound yet.
  Expected<bool> Check() const;
  Expected<bool> CheckBinding(const BindingPlan::Binding& binding, const std::string& written,
                              const api::Node& node) const;
  Expected<bool> CheckProvision(const api::PersistentVolumeClaim& claim, const std::string& written,
                                const api::Node& node) const;
  Expected<void> CheckPlace(const api::PersistentVolume& volume, const api::Node& node,
                            std::string_view context) const;

  framework::Handle& handle_;
  const framework::Placement& placement_;
  const std::shared_ptr<PodClaims> claims_;
  const Duration timeout_;
  const std::stop_token stop_;
  framework::StatusCallback answer_;
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
  std::vector<std::string> versions_;  // of the written objects, in the order of the plan
};

}  // namespace berth::plugins
