// Checks every write to the store against what a scheduler must never do.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sandbox/store/store.hpp"
#include "simulation/virtual_time.hpp"
#include "tests/faults/timeline.hpp"
#include "tests/faults/workload.hpp"

namespace berth::faults {

// A pod in the store.
struct PodFacts {
  std::string key, uid, node;
  std::size_t pod_template = 0;
  bool deleting = false;
  bool ended = false;  // Succeeded or Failed: holds no resources
  bool waiting() const { return node.empty() && !deleting && !ended; }
};

// Invariants, checked when a pod is bound:
//   - its node never changes
//   - the node has room for it: CPU, memory, number of pods, host port
//   - node selector, taints, cordons, anti-affinity, affinity and topology spread hold
// and at every change of a claim: each device belongs to one claim, each volume to one claim.
// The bindings of several decisions can reach the API server in any order, and some can fail. Affinity and
// spread depend on the others: they are checked kOrderTime after the binding, and only before the first
// fault. A scheduler can violate a constraint that another client has changed and that it has not learned
// yet: such a constraint counts only if it has been in force for longer than the staleness. Other pods are
// bound only by the schedulers, so that room, ports, anti-affinity, devices and volumes are checked without
// tolerance. One thread.
class Checker final : public sandbox::StoreObserver {
 public:
  static constexpr std::chrono::seconds kOrderTime{2};

  // `staleness`: how old the view of a scheduler may be now. `faulty`: whether there was a fault.
  Checker(simulation::VirtualTime& time, Timeline& timeline, std::function<Duration()> staleness,
          std::function<bool()> faulty);

  void OnChange(const sandbox::ResourceType& type, const sandbox::Change& change) override;
  // Adds a violation that was found elsewhere.
  void Report(const std::string& invariant, const std::string& what);

  // "no node over its allocatable: ..."
  const std::vector<std::string>& violations() const { return violations_; }
  const std::map<std::string, PodFacts>& pods() const { return pods_; }  // by key
  std::uint64_t bindings() const { return bindings_; }

 private:
  struct NodeFacts {
    std::size_t number = 0;
    bool exists = false;
    Duration changed{};                         // it was created or deleted
    std::optional<Duration> cordoned, tainted;  // since
    std::size_t zone() const { return number % kZones; }
  };
  void OnPod(const sandbox::Change& change);
  void OnNode(const sandbox::Change& change);
  void OnDeviceClaim(const sandbox::Change& change);
  void OnVolumeClaim(const sandbox::Change& change);
  void CheckBinding(const PodFacts& pod);
  void CheckRoom(const PodFacts& pod, const NodeFacts& node);
  void CheckNode(const PodFacts& pod, const NodeFacts& node);
  void CheckPods(const PodFacts& pod, const NodeFacts& node);
  void CheckLater(const PodFacts& pod);
  void CheckAffinity(const PodFacts& pod, const NodeFacts& node);
  void CheckSpread(const PodFacts& pod, const NodeFacts& node);
  const NodeFacts* NodeOf(const PodFacts& pod) const;
  bool Recent(Duration time) const { return time_.now() - time <= staleness_(); }

  simulation::VirtualTime& time_;
  Timeline& timeline_;
  const std::function<Duration()> staleness_;
  const std::function<bool()> faulty_;
  std::vector<std::string> violations_;
  std::uint64_t bindings_ = 0;
  std::map<std::string, PodFacts> pods_;
  std::map<std::string, NodeFacts> nodes_;
  std::map<std::size_t, Duration> shrunk_;  // by template: when a pod with a node was deleted or ended
  Duration topology_changed_{};
  std::map<std::string, std::string> device_owner_;  // key of the claim by "driver/pool/device"
  std::map<std::string, std::set<std::string>> devices_of_;
  std::map<std::string, std::string> volume_owner_;  // UID of the claim by volume
};

}  // namespace berth::faults
