// Checks every write to the store against what a scheduler must never do.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "http/message.hpp"
#include "sandbox/store/store.hpp"
#include "simulation/virtual_time.hpp"
#include "tests/faults/network.hpp"
#include "tests/faults/prometheus.hpp"
#include "tests/faults/timeline.hpp"
#include "tests/faults/workload.hpp"

namespace berth::faults {

// A pod in the store.
struct PodFacts {
  std::string key, uid, node;
  std::size_t pod_template = 0;
  bool deleting = false;
  bool ended = false;        // Succeeded or Failed: holds no resources
  bool unscheduled = false;  // the condition PodScheduled is False
  std::string binder{};      // the process that bound it
  std::string group{};       // the pod group; empty: none
  std::size_t members = 0;   // of the group
  bool bound_late = false;   // by a request that its process had given up
  bool waiting() const { return node.empty() && !deleting && !ended; }
};

// What the checker reads during the run.
struct CheckerInputs {
  std::function<Duration()> staleness;  // how old the view of a scheduler may be now
  std::function<bool()> faulty;         // whether there was a fault
  bool has_required_extender = false;
  // The last measurement of the node that has arrived at the process. Empty: nothing is measured, or a
  // binding can reach the API server long after its decision.
  std::function<std::optional<Reading>(const std::string& process, const std::string& node)> reading;
  std::function<const Client*()> client;  // whose request is executed; null: a controller's, or a user's
};

// Invariants, checked when a pod is bound:
//   - its node never changes, and its scheduler does not try to bind it to another one
//   - the node has room for it: CPU, memory, number of pods, host port
//   - a required extender accepts the node
//   - the process that binds it has a recent measurement of the node, which is not hot
//   - node selector, taints, cordons, anti-affinity, affinity and topology spread hold
//   - its condition PodScheduled does not become False
// and at every change of a claim: each device belongs to one claim, each volume to one claim. A lease changes
// its holder only after lease_duration without a renewal, or when it was released.
// Of a pod group that has lost no member all are bound or none, kOrderTime after a binding before the first
// fault, and at the end (CheckGroups).
// Requests that arrive late can take room that a scheduler has given to others meanwhile, as with
// kube-scheduler: what they do is not checked, nor its effect on later bindings within the staleness.
// The bindings of several decisions can reach the API server in any order, and some can fail. Affinity and
// spread depend on the others: they are checked kOrderTime after the binding, and only before the first
// fault. A scheduler can violate a constraint that another client has changed and that it has not learned
// yet: such a constraint counts only if it has been in force for longer than the staleness. Other pods are
// bound only by the schedulers, so that room, ports, anti-affinity, devices and volumes are checked without
// tolerance. One thread.
class Checker final : public sandbox::StoreObserver {
 public:
  static constexpr std::chrono::seconds kOrderTime{2};

  static constexpr std::chrono::seconds kLeaseDuration{15};

  Checker(simulation::VirtualTime& time, Timeline& timeline, CheckerInputs inputs);

  void OnChange(const sandbox::ResourceType& type, const sandbox::Change& change) override;
  // A write of a scheduler that is about to be executed and is not late.
  void OnRequest(const Client& client, const http::Request& request);
  // At the end of the run.
  void CheckGroups();
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
  void OnLease(const sandbox::Change& change);
  void CheckBinding(const PodFacts& pod);
  void CheckRoom(const PodFacts& pod, const NodeFacts& node);
  void CheckNode(const PodFacts& pod, const NodeFacts& node);
  void CheckPods(const PodFacts& pod, const NodeFacts& node);
  void CheckLoad(const PodFacts& pod);
  void CheckLater(const PodFacts& pod);
  void CheckGroup(const PodFacts& pod);
  void CheckAffinity(const PodFacts& pod, const NodeFacts& node);
  void CheckSpread(const PodFacts& pod, const NodeFacts& node);
  const NodeFacts* NodeOf(const PodFacts& pod) const;
  bool Recent(Duration time) const { return time_.now() - time <= inputs_.staleness(); }
  bool late() const { return inputs_.client() != nullptr && inputs_.client()->late; }
  // Whether a late request has recently changed `what`: "node n1", "claim default/c".
  bool RecentlyLate(const std::string& what) const;

  simulation::VirtualTime& time_;
  Timeline& timeline_;
  const CheckerInputs inputs_;
  std::vector<std::string> violations_;
  std::uint64_t bindings_ = 0;
  std::map<std::string, PodFacts> pods_;
  std::map<std::string, NodeFacts> nodes_;
  std::map<std::size_t, Duration> shrunk_;  // by template: when a pod with a node was deleted or ended
  Duration topology_changed_{};
  std::set<std::string> incomplete_groups_;          // a member has been deleted or was bound late
  std::map<std::string, Duration> late_;             // see RecentlyLate
  std::string holder_;                               // of the schedulers' lease
  Duration renewed_{};                               // when the holder wrote it
  std::map<std::string, std::string> device_owner_;  // key of the claim by "driver/pool/device"
  std::map<std::string, std::set<std::string>> devices_of_;
  std::map<std::string, std::string> volume_owner_;  // UID of the claim by volume
};

}  // namespace berth::faults
