// The object of kMeasurementUpdate events.
#pragma once

#include "scheduler/framework/cluster_event.hpp"

namespace berth::framework {

// A plugin accepts nodes that it rejected before, because of measurements or of pods that they do not include
// yet. Every plugin has its own signals and thresholds, so the change affects only pods that this one
// rejected.
struct MeasurementChange {
  const void* plugin = nullptr;  // compared only
};

// Registers for the changes that `plugin` publishes.
inline EventRegistration WhenMeasured(const void* plugin) {
  return When<MeasurementChange>(
      EventResource::kMeasurement, kUpdate,
      [plugin](const cluster::PodInfo&, const MeasurementChange*, const MeasurementChange* after) {
        return after == nullptr || after->plugin == plugin ? Hint::kQueue : Hint::kSkip;
      });
}

}  // namespace berth::framework
