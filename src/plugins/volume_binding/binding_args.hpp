// VolumeBindingArgs (kubescheduler.config.k8s.io/v1).
#pragma once

#include "base/clock.hpp"
#include "config/feature_gates.hpp"
#include "framework/factory.hpp"
#include "plugins/node_resources/shape.hpp"

namespace berth::plugins {

struct VolumeBindingArgs {
  Duration bind_timeout = std::chrono::seconds(600);
  std::vector<ShapePoint> shape;  // empty without the gate StorageCapacityScoring
};

// Read strictly, defaulted and validated; errors are kube-scheduler's texts.
Expected<VolumeBindingArgs> ParseVolumeBindingArgs(const framework::RawArgs& args,
                                                   const config::FeatureGates& gates);

}  // namespace berth::plugins
