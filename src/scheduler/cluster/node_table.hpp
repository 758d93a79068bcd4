// All nodes as one table: a row per node, a contiguous column per number, a set of rows behind each label,
// taint list, image and port. This is what plugins see of the cluster.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "kubernetes/api/objects.hpp"
#include "base/row_group.hpp"
#include "base/row_set.hpp"
#include "scheduler/cluster/pod_info.hpp"
#include "scheduler/cluster/symbol_table.hpp"

namespace berth::cluster {

using Row = std::uint32_t;
inline constexpr Row kNoRow = UINT32_MAX;

// An image as ImageLocality counts it: one size per name (the first reporter's, kept while any node has the
// image).
struct ImageState {
  std::int64_t size_bytes = 0;
  RowGroup rows;
};

// A pod on a node: one that is bound, assumed, or (in an overlay) only nominated.
struct PlacedPod {
  api::PodPtr pod;
  PodUsePtr takes;
  // The table's own: where it stands in its row's list; while an overlay has it removed, by which step.
  std::uint32_t slot = 0;

  const PodUse& use() const { return *takes; }
};

// Told of every pod that appears on a row or leaves it, after the table has changed. `imagined`: by an
// overlay, which undoes it before anything else happens. For counters that follow the cluster.
class PodObserver {
 public:
  virtual ~PodObserver() = default;
  virtual void PodAppears(Row row, const PlacedPod& pod, bool imagined) = 0;
  virtual void PodLeaves(Row row, const PlacedPod& pod, bool imagined) = 0;
  // A node has taken the row, or is about to leave it; there are no pods on it then.
  virtual void NodeAppears(Row /*row*/) {}
  virtual void NodeLeaves(Row /*row*/) {}
};

// Where the nodes stand along one label key: rows with the same value are one domain. Domains are numbered
// from 0; a number whose last row has gone is given to a new value.
struct Topology {
  static constexpr std::uint32_t kNowhere = UINT32_MAX;
  std::vector<std::uint32_t> domain;                      // by row; kNowhere: the node lacks the label
  std::vector<std::uint32_t> rows_in;                     // by domain
  std::vector<LabelId> label_of;                          // by domain
  std::size_t domains() const { return rows_in.size(); }  // numbers in use, and some that are not
};

// One writer, the scheduler loop; plugins read it on the same thread while a decision is made. Rows of
// removed nodes are reused. All columns have rows() entries; entries of rows without node are zero.
class NodeTable {
 public:
  explicit NodeTable(SymbolTable& symbols);

  // --- reading
  // ----------------------------------------------------------------------------------------------
  const SymbolTable& symbols() const { return symbols_; }
  std::size_t rows() const { return nodes_.size(); }
  std::size_t node_count() const { return node_count_; }
  const RowSet& all() const { return all_; }
  Row Find(NodeNameId name) const;
  const api::Node& node(Row row) const { return *nodes_[row]; }
  const std::string& name(Row row) const { return nodes_[row]->metadata.name; }
  NodeNameId name_id(Row row) const { return name_ids_[row]; }

  // What a node offers and what is taken; no entries if no node ever offered the resource.
  std::span<const std::int64_t> allocatable(ResourceId resource) const {
    return HasColumn(resource) ? columns_[resource.value].allocatable : std::span<const std::int64_t>();
  }
  std::span<const std::int64_t> requested(ResourceId resource) const {
    return HasColumn(resource) ? columns_[resource.value].requested : std::span<const std::int64_t>();
  }
  // Requested, with 100m cpu and 200Mi memory for each container that asks for none.
  std::span<const std::int64_t> non_zero_cpu() const { return non_zero_cpu_; }
  std::span<const std::int64_t> non_zero_memory() const { return non_zero_memory_; }
  std::span<const std::int64_t> pod_count() const { return pod_count_; }
  std::span<const std::int64_t> allowed_pods() const { return allowed_pods_; }
  // In no particular order.
  std::span<PlacedPod* const> pods(Row row) const { return pods_[row]; }

  const RowSet& unschedulable() const { return unschedulable_; }
  TaintListId taints(Row row) const { return taints_[row]; }
  // Visits every taint list that some node has, with its rows: visit(TaintListId, const RowGroup&).
  template <class Visit>
  void ForEachTaintList(Visit&& visit) const {
    for (std::uint32_t i = 0; i < taint_rows_.size(); ++i) {
      if (!taint_rows_[i].Empty()) visit(TaintListId{i}, taint_rows_[i]);
    }
  }
  // Changes whenever a node comes, goes, or gets other labels.
  std::uint64_t label_generation() const { return label_generation_; }
  // Null where no node ever had it.
  const RowGroup* WithLabel(LabelId label) const;
  const RowSet* WithKey(LabelKeyId key) const;
  const ImageState* Image(ImageId image) const;
  // Built when a key is asked for the first time, and kept up to date from then on.
  const Topology& Along(LabelKeyId key) const;
  // Adds the rows where a pod that wants this port would collide.
  void AddPortConflicts(HostPort wanted, RowSet& out) const;

  // --- what has changed since one looked last
  // Changes whenever a node comes, goes, or describes itself in another way that plugins see.
  std::uint64_t node_changes() const { return node_changes_; }
  // How many pods have come to rows or left them; overlays do not count.
  std::uint64_t pod_changes() const { return pod_changes_; }
  // Visits the rows of all such changes but the first `seen`, some perhaps several times. False, and visits
  // none, if they are too many to be remembered.
  template <class Visit>
  bool ForEachChangedRow(std::uint64_t seen, Visit&& visit) const {
    if (pod_changes_ - seen > changed_.size()) return false;
    for (std::uint64_t i = seen; i < pod_changes_; ++i) visit(changed_[i % changed_.size()]);
    return true;
  }

  // The observer outlives the table or leaves by Forget; it is not told of pods that are there already.
  void Observe(PodObserver& observer) { observers_.push_back(&observer); }
  void Forget(PodObserver& observer) { std::erase(observers_, &observer); }

  // --- writing
  // ----------------------------------------------------------------------------------------------
  Row Add(api::NodePtr node);
  void Update(Row row, api::NodePtr node);
  // The row's pods must have been removed before.
  void Remove(Row row);
  // A pod appears on or leaves a node; it stays where it is in memory in between. Ports are a set, as in
  // kube-scheduler: of two pods with the same port (which only a bind past the scheduler can bring about) the
  // first to leave takes the entry with it.
  void AddPod(Row row, PlacedPod& pod);
  void RemovePod(Row row, PlacedPod& pod);

  // The table with some pods more or less, until the overlay's end: nominated pods while a filter looks, and
  // the dry runs of preemption. Overlays end in the reverse order of their beginning.
  class Overlay {
   public:
    explicit Overlay(NodeTable& table) : table_(table) {}
    Overlay(const Overlay&) = delete;
    Overlay& operator=(const Overlay&) = delete;
    ~Overlay();
    // The pod as the table shows it; valid until the overlay ends.
    const PlacedPod& Add(Row row, const PodInfo& pod);
    // The pod is on that row. Add the same object to take it back.
    void Remove(Row row, PlacedPod& pod);
    void Add(Row row, PlacedPod& pod);

   private:
    struct Step {
      Row row = kNoRow;
      bool added = false;
      PlacedPod* pod = nullptr;      // null: a later step has undone it
      std::uint32_t first_port = 0;  // in ports_, that this step set or cleared
      std::uint32_t ports = 0;
    };
    void Take(Row row, PlacedPod& pod, bool add);
    bool TakeBack(Row row, PlacedPod& pod);

    NodeTable& table_;
    std::vector<Step> steps_;
    std::vector<HostPort> ports_;
    std::deque<PlacedPod> overlay_pods_;
  };

 private:
  struct Column {
    std::vector<std::int64_t> allocatable;
    std::vector<std::int64_t> requested;
  };
  bool HasColumn(ResourceId resource) const { return resource.known() && resource.value < columns_.size(); }
  struct PortUse {
    AddressId address;
    RowGroup rows;
  };

  struct TrackedTopology {
    Topology topology;
    boost::unordered_flat_map<LabelId, std::uint32_t> domain_of;
    std::vector<std::uint32_t> free;
    void Join(Row row, LabelId label);
    void Leave(Row row);
  };

  void Tell(Row row, const PlacedPod& pod, bool appears, bool imagined) const {
    for (PodObserver* observer : observers_) {
      if (appears) {
        observer->PodAppears(row, pod, imagined);
      } else {
        observer->PodLeaves(row, pod, imagined);
      }
    }
  }
  void SetAllocatable(Row row, const api::ResourceList& list);
  void SetLabels(Row row, const api::Labels& labels, bool present);
  void SetImages(Row row, const std::vector<api::ContainerImage>& images, bool present);
  void SetTaints(Row row, TaintListId list);
  Column& ColumnOf(ResourceId resource);
  void AddAmounts(Row row, const PodUse& use, std::int64_t sign);
  void NoteChange(Row row) { changed_[pod_changes_++ % kChangesKept] = row; }
  void AddToList(Row row, PlacedPod& pod);
  void RemoveFromList(Row row, PlacedPod& pod);
  // True if that changed anything.
  bool AddPort(Row row, HostPort port);
  bool RemovePort(Row row, HostPort port);

  SymbolTable& symbols_;
  std::vector<api::NodePtr> nodes_;
  std::vector<std::vector<PlacedPod*>> pods_;
  std::vector<Row> free_rows_;
  std::size_t node_count_ = 0;
  RowSet all_;
  std::vector<Row> row_of_name_;      // by NodeNameId
  std::vector<NodeNameId> name_ids_;  // by row
  std::vector<Column> columns_;   // by ResourceId
  std::vector<std::int64_t> non_zero_cpu_, non_zero_memory_, pod_count_, allowed_pods_;
  RowSet unschedulable_;
  std::vector<TaintListId> taints_;
  std::vector<RowGroup> taint_rows_;
  std::vector<RowGroup> label_rows_;
  std::vector<RowSet> key_rows_;
  std::uint64_t label_generation_ = 1;
  std::uint64_t node_changes_ = 1;
  static constexpr std::size_t kChangesKept = 4096;
  std::vector<Row> changed_ = std::vector<Row>(kChangesKept);  // a ring
  std::uint64_t pod_changes_ = 0;
  std::vector<ImageState> images_;
  // Made on demand by readers; the deque keeps them where they are.
  mutable std::deque<TrackedTopology> topologies_;
  mutable std::vector<TrackedTopology*> topology_of_key_;
  std::vector<PodObserver*> observers_;
  boost::unordered_flat_map<PortId, std::vector<PortUse>> ports_;
};

}  // namespace berth::cluster
