// All controllers of the simulated cluster, as kube-controller-manager starts them.
#pragma once

#include <memory>

#include "base/timer_queue.hpp"
#include "sandbox/apiserver/verbs.hpp"
#include "sandbox/controllers/event_recorder.hpp"
#include "sandbox/controllers/node_lifecycle.hpp"
#include "sandbox/controllers/volumes/volumes.hpp"

namespace berth::sandbox {

struct ControllersOptions {
  NodeLifecycleOptions node_lifecycle;
  VolumeOptions volumes;
  bool workloads = true;  // false: only nodes, namespaces and events are maintained
};

// Runs all controllers on everything in the store, including objects that existed before construction. One
// thread; must outlive the store's last write.
class Controllers {
 public:
  Controllers(Verbs& verbs, TimerQueue& timers, Random& random, const ControllersOptions& options);
  ~Controllers();

  EventRecorder& events();
  ClusterView& view();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::sandbox
