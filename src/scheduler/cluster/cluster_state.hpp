// The cluster as far as placing pods is concerned: nodes with their sums, bound pods, assumed pods.
#pragma once

#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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
// A pod is known by its UID. Assumed pods never expire: they leave by AddPod, Forget or RemovePod. Pods may
// be reported on nodes that are not (or no longer) there; they count as soon as the node appears. One thread:
// the scheduler loop's.
class ClusterState {
 public:
  explicit ClusterState(SymbolTable& symbols)
      : symbols_(symbols),
        table_(symbols),
        counters_(table_, objects_),
        volumes_(table_, objects_) {}

  const NodeTable& nodes() const { return table_; }
  NodeTable& nodes() { return table_; }
  // Everything else: volumes, namespaces, services, budgets and so on.
  ClusterObjects& objects() { return objects_; }
  PodCounters& counters() { return counters_; }
  VolumesInUse& volumes() { return volumes_; }
  // Rows of all nodes in the order in which sampling visits them: zones take turns (kube-scheduler's node
  // tree).
  std::span<const Row> VisitingOrder();

  // A node of that name that is there already is updated.
  void AddNode(api::NodePtr node);
  void UpdateNode(api::NodePtr node);
  // Its pods stay known: deletes of pods arrive on a stream of their own.
  void RemoveNode(const std::string& name);

  // A pod with a node was seen. Replaces what is known of the UID, an assumption included.
  void AddPod(api::PodPtr pod);
  // True if the pod was known.
  bool RemovePod(const std::string& uid);
  // The pod takes its place on the node from now on. False if the UID is known already.
  bool Assume(const PodInfo& pod, Row row);
  // Undoes Assume; false if the pod is not assumed (a bind was seen, or it was removed).
  bool Forget(const std::string& uid);
  bool IsAssumed(const std::string& uid) const;
  bool Knows(const std::string& uid) const { return pods_.contains(Uid(uid)); }
  // As it was last seen; an assumed pod with the node it is assumed on. Null if the UID is unknown.
  api::PodPtr FindPod(const std::string& uid) const;

  // Adds those that were seen with a node, in no particular order; assumed pods are not among them.
  void AppendBoundPods(std::vector<api::PodPtr>& out) const;

  std::size_t pod_count() const { return pods_.size(); }
  std::size_t assumed_count() const { return assumed_; }
  // Changes whenever a node comes or goes.
  std::uint64_t node_generation() const { return node_generation_; }

 private:
  struct PodState {
    PlacedPod placed;
    NodeNameId node;
    bool assumed = false;
  };
  // The UID is the pod's own; its hash is kept: a growing table does not look at the pods again.
  struct Uid {
    explicit Uid(std::string_view text) : text(text), hash(boost::hash<std::string_view>()(text)) {}
    std::string_view text;
    std::size_t hash;
  };
  struct Known {
    std::size_t hash = 0;
    std::unique_ptr<PodState> state;  // does not move
    std::string_view uid() const { return state->placed.pod->metadata.uid; }
  };
  struct ByUid {
    using is_transparent = void;
    std::size_t operator()(const Uid& uid) const { return uid.hash; }
    std::size_t operator()(const Known& pod) const { return pod.hash; }
    bool operator()(const Known& a, const Known& b) const { return a.hash == b.hash && a.uid() == b.uid(); }
    bool operator()(const Known& a, const Uid& b) const { return a.hash == b.hash && a.uid() == b.text; }
    bool operator()(const Uid& a, const Known& b) const { return (*this)(b, a); }
  };
  struct Zone {
    std::string key;
    std::vector<Row> rows;
  };
  // Null: the UID is known already.
  PodState* Know(api::PodPtr pod);
  void Place(PodState& pod);
  void Displace(PodState& pod);
  void LeaveZone(Row row);
  void JoinZone(Row row);

  SymbolTable& symbols_;
  NodeTable table_;
  ClusterObjects objects_;
  PodCounters counters_;
  VolumesInUse volumes_;
  RecentUses uses_{symbols_};
  boost::unordered_flat_set<Known, ByUid, ByUid> pods_;
  // Pods whose node is not there (yet, or any more), by NodeNameId.
  boost::unordered_flat_map<NodeNameId, std::vector<PodState*>> pods_without_node_;
  std::size_t assumed_ = 0;
  std::uint64_t node_generation_ = 0;
  std::vector<Zone> zones_;
  std::vector<Row> order_;
  bool order_stale_ = true;
};

}  // namespace berth::cluster
