// Forwards watch events to a scheduler that follows the cluster, and notifies a shadow directly before and
// after each cache update.
#pragma once

#include "scheduler/cycle/scheduler.hpp"
#include "tools/shadow/shadow.hpp"

namespace berth::shadow {

// Changes must come from one thread. The follower's loop must outlive them.
class ShadowSink final : public ports::ClusterSink {
 public:
  ShadowSink(cycle::Scheduler& follower, Shadow& shadow) : follower_(follower), shadow_(shadow) {}

  void On(ports::Change<api::Pod> change) override { Pass(std::move(change)); }
  void On(ports::Change<api::Node> change) override { Pass(std::move(change)); }
  void On(ports::Change<api::Namespace> change) override { Pass(std::move(change)); }
  void On(ports::Change<api::PersistentVolume> change) override { Pass(std::move(change)); }
  void On(ports::Change<api::PersistentVolumeClaim> change) override { Pass(std::move(change)); }
  void On(ports::Change<api::StorageClass> change) override { Pass(std::move(change)); }
  void On(ports::Change<api::CSINode> change) override { Pass(std::move(change)); }
  void On(ports::Change<api::CSIDriver> change) override { Pass(std::move(change)); }
  void On(ports::Change<api::CSIStorageCapacity> change) override { Pass(std::move(change)); }
  void On(ports::Change<api::VolumeAttachment> change) override { Pass(std::move(change)); }
  void On(ports::Change<api::Service> change) override { Pass(std::move(change)); }
  void On(ports::Change<api::ReplicationController> change) override { Pass(std::move(change)); }
  void On(ports::Change<api::ReplicaSet> change) override { Pass(std::move(change)); }
  void On(ports::Change<api::StatefulSet> change) override { Pass(std::move(change)); }
  void On(ports::Change<api::PodDisruptionBudget> change) override { Pass(std::move(change)); }
  void On(ports::Change<api::DeviceClass> change) override { Pass(std::move(change)); }
  void On(ports::Change<api::ResourceClaim> change) override { Pass(std::move(change)); }
  void On(ports::Change<api::ResourceSlice> change) override { Pass(std::move(change)); }
  void On(ports::Change<api::DeviceTaintRule> change) override { Pass(std::move(change)); }
  void OnSynced() override {
    follower_.sink().OnSynced();
    follower_.Post([this] {
      shadow_.Synced();
      Rest();
    });
  }

 private:
  template <class T>
  void Pass(ports::Change<T> change) {
    follower_.Post([this, change] { shadow_.Before(change); });
    follower_.sink().On(std::move(change));
    follower_.Post([this] { shadow_.After(); });
  }
  // Pending comparisons must be completed without further changes, too.
  void Rest() {
    shadow_.Tick();
    follower_.PostAfter(kTickInterval, [this] { Rest(); });
  }
  static constexpr Duration kTickInterval = std::chrono::milliseconds(200);

  cycle::Scheduler& follower_;
  Shadow& shadow_;
};

}  // namespace berth::shadow
