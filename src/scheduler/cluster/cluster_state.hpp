// The scheduler's model of the cluster: nodes with aggregated values, bound pods, assumed pods, and other
// objects.
#pragma once

#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/seeded_hash.hpp"
#include "kubernetes/api/objects.hpp"
#include "scheduler/cluster/cluster_objects.hpp"
#include "scheduler/cluster/node_table.hpp"
#include "scheduler/cluster/pod_counters.hpp"
#include "scheduler/cluster/recent_uses.hpp"
#include "scheduler/cluster/symbol_table.hpp"
#include "scheduler/cluster/volumes_in_use.hpp"

namespace berth::cluster {

//            Assume              AddPod (the bind was seen)
//   (none) ─────────> assumed ───────────────────────────────> bound ──RemovePod──> (none)
//      ^                 │                                       ^
//      └────Forget───────┘            AddPod ────────────────────┘
//
// Pods are identified by UID. Assumed pods do not expire; they leave by AddPod, Forget or RemovePod. Pods may
// be reported on nodes that do not exist (any more); they count when the node appears. Scheduler loop only.
class ClusterState {
 public:
  explicit ClusterState(SymbolTable& symbols)
      : symbols_(symbols), table_(symbols), counters_(table_, objects_), volumes_(table_, objects_) {}

  const NodeTable& nodes() const { return table_; }
  NodeTable& nodes() { return table_; }
  // All other kinds: volumes, namespaces, services, disruption budgets and so on.
  ClusterObjects& objects() { return objects_; }
  PodCounters& counters() { return counters_; }
  VolumesInUse& volumes() { return volumes_; }
  // Rows of all nodes in the order in which sampling visits them: round-robin over zones (kube-scheduler's
  // node tree).
  std::span<const Row> VisitingOrder();

  // Updates the node if one with this name exists.
  void AddNode(api::NodePtr node);
  void UpdateNode(api::NodePtr node);
  // The node's pods are kept: their deletion arrives in a separate watch.
  void RemoveNode(const std::string& name);

  // Adds a bound pod. Replaces an earlier version of the UID, including an assumed one.
  void AddPod(api::PodPtr pod);
  // Returns whether the pod was present.
  bool RemovePod(const std::string& uid);
  // Adds a pod to a node before its binding is confirmed. Returns false if the UID is already present.
  bool Assume(const PodInfo& pod, Row row);
  // Reverts Assume. Returns false if the pod is not assumed (it was bound or removed meanwhile).
  bool Forget(const std::string& uid);
  bool IsAssumed(const std::string& uid) const;
  bool Contains(const std::string& uid) const { return pods_.contains(Uid(uid)); }
  // The last received version; for an assumed pod, a version with the node it is assumed on. Null if the UID
  // is unknown.
  api::PodPtr FindPod(const std::string& uid) const;

  // Appends all pods that were received with a node, in no defined order; assumed pods are not included.
  void AppendBoundPods(std::vector<api::PodPtr>& out) const;

  // Releases what deleted pods left behind, see SymbolTable::ReleaseUnused. Not during a decision.
  void ReleaseUnused();

  std::size_t pod_count() const { return pods_.size(); }
  std::size_t assumed_count() const { return assumed_; }
  // Changes whenever a node is added or removed.
  std::uint64_t node_generation() const { return node_generation_; }

 private:
  struct PodState {
    PlacedPod placed;
    NodeNameId node;
    SymbolLease symbols;  // of a node that does not exist
    bool assumed = false;
  };
  // The text refers to the pod's own string. The hash is stored, so that rehashing does not access the pods.
  struct Uid {
    explicit Uid(std::string_view text) : text(text), hash(SeededHash()(text)) {}
    std::string_view text;
    std::size_t hash;
  };
  struct PodEntry {
    std::size_t hash = 0;
    std::unique_ptr<PodState> state;  // address is stable
    std::string_view uid() const { return state->placed.pod->metadata.uid; }
  };
  struct ByUid {
    using is_transparent = void;
    std::size_t operator()(const Uid& uid) const { return uid.hash; }
    std::size_t operator()(const PodEntry& pod) const { return pod.hash; }
    bool operator()(const PodEntry& a, const PodEntry& b) const {
      return a.hash == b.hash && a.uid() == b.uid();
    }
    bool operator()(const PodEntry& a, const Uid& b) const { return a.hash == b.hash && a.uid() == b.text; }
    bool operator()(const Uid& a, const PodEntry& b) const { return (*this)(b, a); }
  };
  struct Zone {
    std::string key;
    std::vector<Row> rows;
  };
  // Whether the pod is on a row already and this version differs in nothing that verdicts, scores or counters
  // depend on.
  bool IsAsKnown(const PodState& known, const api::Pod& pod, NodeNameId node) const;
  // Null if the UID is already present.
  PodState* Insert(api::PodPtr pod);
  void Place(PodState& pod);
  void RemoveFromNode(PodState& pod);
  void RemoveFromZone(Row row);
  void AddToZone(Row row);

  SymbolTable& symbols_;
  NodeTable table_;
  ClusterObjects objects_;
  PodCounters counters_;
  VolumesInUse volumes_;
  PodUseCache uses_{symbols_};
  boost::unordered_flat_set<PodEntry, ByUid, ByUid> pods_;
  // Pods whose node does not exist, by NodeNameId.
  boost::unordered_flat_map<NodeNameId, std::vector<PodState*>> pods_without_node_;
  std::size_t assumed_ = 0;
  std::uint64_t node_generation_ = 0;
  std::vector<Zone> zones_;
  std::vector<Row> order_;
  bool order_stale_ = true;
};

}  // namespace berth::cluster
