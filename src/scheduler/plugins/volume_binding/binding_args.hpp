// VolumeBindingArgs (kubescheduler.config.k8s.io/v1).
#pragma once

#include "base/clock.hpp"
#include "config/feature_gates.hpp"
#include "scheduler/framework/factory.hpp"
#include "scheduler/plugins/node_resources/shape.hpp"

namespace berth::plugins {

struct VolumeBindingArgs {
  std::int64_t bind_timeout_seconds = 600;
  bool has_shape = false;
  std::vector<ShapePoint> shape;  // empty without the gate StorageCapacityScoring

  Duration bind_timeout() const { return std::chrono::seconds(bind_timeout_seconds); }
};

// Decoded strictly, defaulted and validated; error texts are kube-scheduler's.
Expected<VolumeBindingArgs> ParseVolumeBindingArgs(const framework::RawArgs& args,
                                                   const config::FeatureGates& gates);
config::ArgsCodec VolumeBindingArgsCodec();

}  // namespace berth::plugins
