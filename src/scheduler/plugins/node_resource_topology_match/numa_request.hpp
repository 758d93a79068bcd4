// What a pod requests of NUMA zones, by container.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "scheduler/cluster/node_table.hpp"
#include "scheduler/plugins/node_resource_topology_match/numa_topology.hpp"

namespace berth::plugins {

enum class QosClass : std::uint8_t { kBestEffort, kBurstable, kGuaranteed };
// As the API server computes status.qosClass.
QosClass QosClassOf(const api::Pod& pod);

// A pod's request for one resource, in thousandths. `resource` is an index of NumaRequest::resources.
struct NumaAmount {
  std::uint32_t resource = 0;
  std::int64_t milli = 0;
};

struct NumaRequest {
  struct Resource {
    const std::string* name = nullptr;
    NumaResourceId id;  // unknown: no zone of any node lists it
    // The node table's column; empty: no node has the resource, or all have it.
    std::span<const std::int64_t> allocatable;
    bool on_all_nodes = false;  // nodes have an amount of it in any case
    bool host_level = false;    // zones need not list it
    bool numa_affine = false;   // only guaranteed pods get it exclusively: CPU, memory, huge pages
  };
  enum class Kind : std::uint8_t { kApp, kInit, kSidecar };
  struct Container {
    Kind kind = Kind::kApp;
    const std::string* name = nullptr;
    std::vector<NumaAmount> amounts;  // ordered by name; zero amounts included
  };

  QosClass qos = QosClass::kBestEffort;
  // Not aligned by the kubelet: a best-effort pod without devices.
  bool unaligned = false;
  std::vector<Resource> resources;    // ordered by name
  std::vector<Container> containers;  // init containers and sidecars first
  std::vector<NumaAmount> pod;        // the maximum of init containers and the sum of the others; overhead

  // Whether a zone must have the amount: otherwise it is enough that the zone lists the resource.
  bool IsExclusive(const Resource& resource) const {
    return qos == QosClass::kGuaranteed || !resource.numa_affine;
  }
};

// `out` refers to the pod and to columns of the table, which must outlive it.
void ReadNumaRequest(const api::Pod& pod, const NumaResourceNames& names, const cluster::NodeTable& nodes,
                     NumaRequest& out);

}  // namespace berth::plugins
