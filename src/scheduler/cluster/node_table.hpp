// The cluster's nodes as a columnar table: one row per node, a contiguous column per numeric value, and a set
// of rows per label, taint list, image and port. This is the view of the cluster that plugins read.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/row_group.hpp"
#include "base/row_set.hpp"
#include "kubernetes/api/node.hpp"
#include "scheduler/cluster/pod_info.hpp"

namespace berth::cluster {

using Row = std::uint32_t;
inline constexpr Row kNoRow = UINT32_MAX;

// An image as counted by ImageLocality: one size per name, that of the node which reported the image first.
// An update of a node sets it only if no other node has the image.
struct ImageState {
  std::int64_t size_bytes = 0;
  RowGroup rows;
};

// A pod on a node: bound, assumed, or (in an overlay) nominated.
struct PlacedPod {
  api::PodPtr pod;
  PodUsePtr takes;
  // Internal to the table: the index in its row's list, or of the step of an overlay that removed the pod.
  std::uint32_t slot = 0;
  const PodUse& use() const { return *takes; }
};

class HostPortsInUse;  // scheduler/cluster/host_ports_in_use.hpp
class PodObserver;     // scheduler/cluster/pod_observer.hpp
class RowLog;          // scheduler/cluster/row_log.hpp

// The nodes grouped by the value of one label key: rows with the same value form a domain. Domains are
// numbered from 0; the number of an empty domain is reused for a new value.
struct Topology {
  static constexpr std::uint32_t kNoDomain = UINT32_MAX;
  std::vector<std::uint32_t> domain;                      // by row; kNoDomain: the node lacks the label
  std::vector<std::uint32_t> rows_in;                     // by domain
  std::vector<LabelId> label_of;                          // by domain
  std::size_t domains() const { return rows_in.size(); }  // an upper bound: includes unused numbers
};

// Written by the scheduler loop only; plugins read it on the same thread during a decision. Rows of removed
// nodes are reused. All columns have rows() entries; entries of rows without a node are zero.
class NodeTable {
 public:
  explicit NodeTable(SymbolTable& symbols);
  ~NodeTable();

  // --- reading ---
  const SymbolTable& symbols() const { return symbols_; }
  std::size_t rows() const { return nodes_.size(); }
  std::size_t node_count() const { return node_count_; }
  const RowSet& all() const { return all_; }
  Row Find(NodeNameId name) const;  // kNoRow: there is no such node
  Row Find(std::string_view name) const;
  const api::Node& node(Row row) const { return *nodes_[row]; }
  const api::NodePtr& shared_node(Row row) const { return nodes_[row]; }  // null: the row has no node
  const std::string& name(Row row) const { return nodes_[row]->metadata.name; }
  NodeNameId name_id(Row row) const { return name_ids_[row]; }

  // A node's allocatable and requested amount; empty if no node has the resource. Valid until a node is
  // added, changed or removed. Nodes and pods may name any number of resources: only those that a node has
  // and that were read take memory per node, until no node has them.
  std::span<const std::int64_t> allocatable(ResourceId resource) const;
  std::span<const std::int64_t> requested(ResourceId resource) const;
  // Likewise: SmallInverse (base/reciprocal.hpp) of the allocatable amount.
  std::span<const double> inverse_allocatable(ResourceId resource) const;
  // The requested amount on one row, also of a resource that no node has.
  std::int64_t RequestedOn(Row row, ResourceId resource) const;
  // The number of resources that take memory per node.
  std::size_t columns() const;
  // Requested, with defaults of 100m CPU and 200Mi memory for containers without a request.
  std::span<const std::int64_t> non_zero_cpu() const { return non_zero_cpu_; }
  std::span<const std::int64_t> non_zero_memory() const { return non_zero_memory_; }
  std::span<const std::int64_t> pod_count() const { return pod_count_; }
  std::span<const std::int64_t> allowed_pods() const { return allowed_pods_; }
  std::span<PlacedPod* const> pods(Row row) const { return pods_[row]; }  // in no defined order

  const RowSet& unschedulable() const { return unschedulable_; }
  TaintListId taints(Row row) const { return taints_[row]; }
  // Calls visit(TaintListId, const RowGroup&) for every taint list in use.
  template <class Visit>
  void ForEachTaintList(Visit&& visit) const {
    for (std::uint32_t i = 0; i < taint_rows_.size(); ++i) {
      if (!taint_rows_[i].Empty()) visit(TaintListId{i}, taint_rows_[i]);
    }
  }
  // Changes whenever a node is added, removed or relabeled.
  std::uint64_t label_generation() const { return label_generation_; }
  // Null if no node ever had it.
  const RowGroup* WithLabel(LabelId label) const;
  const RowSet* WithKey(LabelKeyId key) const;
  const ImageState* Image(ImageId image) const;
  // Built when a key that a node has is first requested, and maintained until no node has the key. Valid
  // until a node is added, changed or removed.
  const Topology& TopologyOf(LabelKeyId key) const;
  // Adds the rows on which a pod with this host port would conflict.
  void AddPortConflicts(HostPort wanted, RowSet& out) const;

  // --- change tracking ---
  // Changes whenever a node is added, removed, or updated in a way that is visible to plugins.
  std::uint64_t node_changes() const { return node_changes_; }
  // Something else on which results depend has changed: of all rows (changes node_changes()), or of this row.
  void InvalidateResults() { ++node_changes_; }
  void InvalidateResults(Row row);
  // The rows to which pods were added or from which they were removed, overlays excluded, and those of
  // InvalidateResults(row).
  const RowLog& pod_changes() const { return *pod_changes_; }
  // The rows of pods whose start time has changed. No result depends on it, unless an observer invalidates
  // it.
  const RowLog& start_changes() const { return *start_changes_; }

  // The observer must outlive the table or be removed by Forget. It is notified at once of the nodes and pods
  // that are in the table already; none of them may be withdrawn. Withdrawals and their reversal are changes,
  // too, and for the last kind those of overlays.
  void Observe(PodObserver& observer);
  void ObserveWithWithdrawals(PodObserver& observer);
  void ObserveWithOverlays(PodObserver& observer);
  void Forget(PodObserver& observer);

  // --- writing ---
  Row Add(api::NodePtr node);
  void Update(Row row, api::NodePtr node);
  // The row's pods must have been removed before.
  void Remove(Row row);
  // Adds a pod to a row or removes it; the object must not move in between. Ports are a set, as in
  // kube-scheduler: if two pods use the same port (possible only when another scheduler bound one of them),
  // the removal of the first frees it.
  void AddPod(Row row, PlacedPod& pod);
  void RemovePod(Row row, PlacedPod& pod);
  // Replaces the object of a pod on this row by a version of the same shape (SameShape), and takes the pod's
  // ports again if the removal of another pod has freed them.
  void ReplacePod(Row row, PlacedPod& pod, api::PodPtr version);

  // Temporary changes (scheduler/cluster/overlay.hpp, withdrawal.hpp).
  class Overlay;
  class Withdrawal;

 private:
  struct Column;  // of cpu, memory and ephemeral storage always built
  bool IsBuilt(ResourceId resource) const;
  // Null if no node has the resource.
  const Column* ColumnOf(ResourceId resource) const;
  struct TrackedTopology;

  // `before`: the list that the row had.
  void SetAllocatable(Row row, const api::ResourceList& before, const api::ResourceList& list);
  // Frees the columns that no node lists any more.
  void RemoveFromColumns(const api::ResourceList& list);
  void SetLabels(Row row, const api::Labels& labels, bool present);
  // Frees the topologies of those keys that no node has any more.
  void FreeTopologies(const api::Labels& labels);
  void SetImages(Row row, const std::vector<api::ContainerImage>& images, bool present);
  void SetTaints(Row row, const std::vector<api::Taint>& taints);
  void RemoveTaints(Row row);
  void BuildColumn(ResourceId resource) const;
  void AddScalar(Row row, ResourceId resource, std::int64_t amount);
  void AddAmounts(Row row, const PodUse& use, std::int64_t sign);
  void AddToList(Row row, PlacedPod& pod);
  void RemoveFromList(Row row, PlacedPod& pod);

  SymbolTable& symbols_;
  std::vector<api::NodePtr> nodes_;
  std::vector<std::vector<PlacedPod*>> pods_;
  std::vector<Row> free_rows_;
  std::size_t node_count_ = 0;
  RowSet all_;
  std::vector<Row> row_of_name_;      // by NodeNameId
  std::vector<NodeNameId> name_ids_;  // by row
  // By ResourceId. Readers build columns.
  mutable std::vector<Column> columns_;
  // What pods on a row request of resources without a built column; sums of 0 are removed.
  mutable boost::unordered_flat_map<std::pair<ResourceId, Row>, std::int64_t> sparse_requested_;
  std::vector<std::int64_t> non_zero_cpu_, non_zero_memory_, pod_count_, allowed_pods_;
  RowSet unschedulable_;
  std::vector<TaintListId> taints_;
  std::vector<RowGroup> taint_rows_;  // by TaintListId; the last one is not empty
  std::vector<RowGroup> label_rows_;
  std::vector<RowSet> key_rows_;
  std::uint64_t label_generation_ = 1;
  std::uint64_t node_changes_ = 1;
  std::unique_ptr<RowLog> pod_changes_, start_changes_;
  std::vector<ImageState> images_;
  // Created on demand by readers; their addresses do not change.
  mutable std::vector<std::unique_ptr<TrackedTopology>> topologies_;
  Topology absent_topology_;  // of all keys that no node has: no domains
  mutable std::vector<TrackedTopology*> topology_of_key_;
  std::vector<PodObserver*> observers_, withdrawal_observers_, overlay_observers_;
  std::unique_ptr<HostPortsInUse> ports_;
};

}  // namespace berth::cluster
