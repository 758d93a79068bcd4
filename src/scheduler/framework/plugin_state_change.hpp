// kPluginState events and their object.
#pragma once

#include <memory>

#include "scheduler/framework/cluster_event.hpp"

namespace berth::framework {

// A plugin accepts nodes that it rejected before, for a reason other than a change of an object:
// measurements, or pods that they do not include yet. Every plugin has its own signals, thresholds and state,
// so the change affects only pods that this one rejected.
struct PluginStateChange {
  const void* plugin = nullptr;  // compared only
};

inline constexpr ClusterEvent kMeasurementUpdate{EventResource::kPluginState, kUpdate, "MeasurementUpdate"};

// Registers for the changes that `plugin` publishes.
inline EventRegistration WhenPluginStateChanges(const void* plugin) {
  return When<PluginStateChange>(
      EventResource::kPluginState, kUpdate,
      [plugin](const cluster::PodInfo&, const PluginStateChange*, const PluginStateChange* after) {
        return QueueIf(after == nullptr || after->plugin == plugin);
      });
}
// What `plugin` publishes.
inline EventObjects StateChangeOf(const void* plugin) {
  return {nullptr, std::make_shared<const PluginStateChange>(PluginStateChange{plugin})};
}

}  // namespace berth::framework
