// The rule of bench_doors as a scheduler extender: an HTTP server in this process, asked over loopback.
#pragma once

#include <memory>

#include "kubernetes/api/objects.hpp"
#include "scheduler/assembly/engine.hpp"
#include "config/extender_config.hpp"
#include "scheduler/cluster/node_table.hpp"

namespace berth::bench {

// Knows the nodes by itself, so that it is sent names only (nodeCacheCapable). It reads the table on a thread
// of its own, but only while the decision waits for its answer.
class DoorExtender {
 public:
  DoorExtender();
  ~DoorExtender();
  config::ExtenderConfig config() const;
  assembly::ExtenderAccess access();
  void LookAt(const cluster::NodeTable& nodes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The pod with the text that an extender is sent.
api::PodPtr WithText(const api::PodPtr& pod);

}  // namespace berth::bench
