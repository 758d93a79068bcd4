// The nodes of a running simulation: creation, failures and repairs, removal.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "base/text_map.hpp"
#include "simulation/virtual_cluster.hpp"
#include "tools/simulate/meter.hpp"
#include "tools/simulate/workload.hpp"

namespace berth::simulate {

// A failed node gets the taints node.kubernetes.io/unreachable (NoSchedule and NoExecute). If it has not been
// repaired after Workload::eviction_after, its pods are lost. One thread; the arguments must outlive it.
class NodeFleet {
 public:
  struct Node {
    std::string name;
    std::uint32_t group = 0;
    bool exists = false;
    bool ready = false;
    std::uint64_t incarnation = 0;    // changes with every failure, repair and removal
    std::vector<std::uint32_t> pods;  // slots of the bound pods
    Duration empty_since{};           // if it has no pods
    Random random{0};                 // for its failures: independent of when other nodes are added
  };
  using LosePods = std::function<void(std::uint32_t node)>;

  // `lose_pods` removes all pods of the node.
  NodeFleet(const Workload& workload, std::uint64_t seed, simulation::VirtualCluster& cluster, Meter& meter,
            Result& result, LosePods lose_pods);

  // Creates the nodes of the start, and the events of outages.
  void Start();
  // The index of the node; nullopt: there is none of that name.
  std::optional<std::uint32_t> Find(std::string_view name) const;
  Node& at(std::uint32_t node) { return nodes_[node]; }
  std::size_t size() const { return nodes_.size(); }  // nodes that do not exist included
  std::size_t count(std::size_t group) const { return counts_[group]; }
  void Add(std::size_t group);
  // The node must have no pods.
  void Remove(std::uint32_t node);

 private:
  void Fail(std::uint32_t node, Duration lasts);
  void Repair(std::uint32_t node);
  void ScheduleFailure(std::uint32_t node);
  void FailTogether(const Outage& outage);
  api::Node Object(std::uint32_t node) const;

  const Workload& workload_;
  const std::uint64_t seed_;
  simulation::VirtualCluster& cluster_;
  Meter& meter_;
  Result& result_;
  const LosePods lose_pods_;
  std::vector<Node> nodes_;  // indices are those of the meter
  FlatTextMap<std::uint32_t> by_name_;
  std::vector<std::size_t> counts_;   // existing nodes by group
  std::vector<std::size_t> numbers_;  // nodes ever created by group
  std::vector<std::string> zones_;    // by node
};

}  // namespace berth::simulate
