// The rule of bench_plugin_interfaces as a scheduler extender: an HTTP server in this process, called over
// loopback.
#pragma once

#include <memory>

#include "config/extender_config.hpp"
#include "kubernetes/api/objects.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/cluster/node_table.hpp"

namespace berth::bench {

// Has its own view of the nodes, so that requests contain only names (nodeCacheCapable). Reads the node table
// on its own thread, but only while the scheduling loop waits for the response.
class MeasuredExtender {
 public:
  MeasuredExtender();
  ~MeasuredExtender();
  config::ExtenderConfig config() const;
  assembly::ExtenderAccess access();
  void ReadNodes(const cluster::NodeTable& nodes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The pod with the JSON text for extender requests.
api::PodPtr WithText(const api::PodPtr& pod);

}  // namespace berth::bench
