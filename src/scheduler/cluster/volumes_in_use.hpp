// The volumes in use on each node, and the limits per CSI driver, as counters that are updated incrementally.
// Decisions do not iterate over the pods of a node.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/row_group.hpp"
#include "base/row_set.hpp"
#include "base/text_map.hpp"
#include "kubernetes/api/objects.hpp"
#include "scheduler/cluster/cluster_objects.hpp"
#include "scheduler/cluster/disks_in_use.hpp"
#include "scheduler/cluster/node_table.hpp"
#include "scheduler/cluster/pod_observer.hpp"
#include "scheduler/cluster/row_counts.hpp"
#include "scheduler/cluster/symbol_table.hpp"

namespace berth::cluster {

// Whether a volume references a claim by name; an ephemeral volume does not.
inline bool IsClaim(const api::Volume& volume) {
  return volume.source == api::Volume::Source::kPersistentVolumeClaim;
}
// The claim name of a volume; for an ephemeral volume "<pod>-<volume>". nullopt: the volume is of another
// kind.
std::optional<std::string> ClaimNameOf(const api::Pod& pod, const api::Volume& volume);
// Whether a volume of the pod references the claim.
bool ReferencesClaim(const api::Pod& pod, const api::PersistentVolumeClaim& claim);
// Whether the pod is the claim's controller, which is required for the claim of an ephemeral volume.
bool IsOwnedByPod(const api::Pod& pod, const api::PersistentVolumeClaim& claim);
// The error text if it is not.
std::string NotOwnedMessage(const api::Pod& pod, const api::PersistentVolumeClaim& claim);

// A volume as counted by a CSI driver.
struct CsiVolume {
  std::string driver;
  std::string id;         // "<driver>/<handle>", unique; empty: not counted by any driver
  bool migrated = false;  // counted only on nodes with a CSINode
};

// A resolved volume of a pod, or the error.
struct LookedUp {
  CsiVolume volume;
  std::string error;  // kube-scheduler's text; empty: no error
  // the error is a missing claim, which matters only for pods that wait to be scheduled
  bool claim_missing = false;
};

// Resolves volumes as NodeVolumeLimits of kube-scheduler v1.37.1 does: from the API server's versions, never
// from assumed ones. One per cluster, shared by all profiles. The table and the objects must outlive it.
// Scheduler loop only.
class VolumesInUse final : private PodObserver {
 public:
  // Requires a node table without pods.
  VolumesInUse(NodeTable& nodes, ClusterObjects& objects);
  ~VolumesInUse() override;
  VolumesInUse(const VolumesInUse&) = delete;
  VolumesInUse& operator=(const VolumesInUse&) = delete;

  // --- claims and disks ---
  // Whether a pod on some node uses the claim, other than as an ephemeral volume.
  bool ClaimIsUsed(std::string_view ns, std::string_view claim) const;
  const DisksInUse& disks() const { return disks_; }

  // --- CSI drivers ---
  static constexpr std::int32_t kNoLimit = INT32_MAX;
  // A CSINode may list any number of names with limits: a driver takes memory per node only if many nodes
  // have a limit, as nodes do for real drivers.
  struct Driver {
    RowGroup installed;
    std::size_t limits = 0;   // number of rows with a limit
    std::size_t volumes = 0;  // number of volumes in use or attached
    // With limits on few rows: these, in ascending order, and the volumes in use or attached. Else empty.
    std::vector<std::pair<Row, std::int32_t>> few_limits;
    RowCounts in_use_counts;
    // With limits on many rows: both by row. Else empty.
    std::vector<std::int32_t> limit_column, in_use_column;

    std::int32_t LimitOf(Row row) const;  // kNoLimit: there is none
    std::int32_t InUseOn(Row row) const;  // volumes in use or attached
  };
  CsiVolume Resolve(const api::PersistentVolumeClaim& claim) const;
  LookedUp LookUp(const api::Pod& pod, const api::Volume& volume) const;
  // Null: the driver is installed on no node, and none of its volumes is in use or attached.
  const Driver* FindDriver(const std::string& name) const;
  // Calls visit(Row) for each row whose pods use the volume.
  template <class Visit>
  void ForEachUser(const std::string& volume_id, Visit&& visit) const {
    const auto found = volumes_.find(volume_id);
    if (found == volumes_.end()) return;
    found->second.used.ForEach([&](Row row, RowCounts::Count) { visit(row); });
  }
  bool IsUsed(const std::string& volume_id, Row row) const;
  const RowSet& with_csi_node() const { return with_csi_node_; }
  const RowSet& with_limits() const { return with_limits_; }  // of any driver
  // Rows on which the CSI driver replaces an in-tree volume plugin ("kubernetes.io/aws-ebs"); null: none.
  const RowSet* MigratedFrom(std::string_view plugin) const;
  // Rows with a pod whose volumes cannot be counted, and the reason (of one such pod).
  const RowSet& uncountable() const { return uncountable_; }
  std::string UncountableReason(Row row) const;

 private:
  struct Volume {
    explicit Volume(Driver& driver) : driver(driver) {}
    Driver& driver;
    RowCounts used;
    RowCounts attached;
  };
  // A claim that is used by a pod on some node.
  struct Claim {
    std::string ns, name;
    std::uint32_t direct_uses = 0;  // uses other than as an ephemeral volume
    RowCounts uses;
    std::vector<std::pair<Row, api::PodPtr>> ephemeral;
    RowCounts wrong;  // ephemeral uses by pods that do not own the claim
    CsiVolume volume;
    std::string pv;  // the volume whose changes affect the claim; key of claims_of_pv_
  };
  struct Attachment {
    std::string node;
    std::string pv;
    std::string attacher;
    CsiVolume volume;
  };
  struct NodeFacts {
    std::shared_ptr<const api::CSINode> csi_node;
    std::vector<Attachment*> attachments;
    bool idle() const { return csi_node == nullptr && attachments.empty(); }
  };

  void OnPodAdded(Row row, const PlacedPod& pod) override {
    if (pod.use().has_volumes) Count(row, pod, 1);
  }
  void OnPodRemoved(Row row, const PlacedPod& pod) override {
    if (pod.use().has_volumes) Count(row, pod, -1);
  }
  void OnNodeAdded(Row row) override;
  void OnNodeRemoved(Row row) override;

  // `amount` is added to the counters.
  void Count(Row row, const PlacedPod& pod, int amount);
  void CountClaim(Row row, const api::PodPtr& pod, const api::Volume& volume, int amount);
  void CountUncountable(Row row, int amount);
  void CountUses(const Claim& claim, int sign);
  void Use(const CsiVolume& volume, Row row, int amount);
  void Attach(const CsiVolume& volume, Row row, int amount);
  void Count(const CsiVolume& volume, Row row, int amount, RowCounts Volume::* what,
             RowCounts Volume::* other);

  CsiVolume ResolveByClass(const api::PersistentVolumeClaim& claim) const;
  void Update(Claim& claim);
  void CheckOwners(Claim& claim);
  void SetPv(Claim& claim, std::string pv);
  void Update(Attachment& attachment);
  void AttachmentChanged(const ports::Change<api::VolumeAttachment>& change);
  void Forget(const std::string& attachment);
  void PvChanged(const std::string& name);
  void CsiNodeChanged(const ports::Change<api::CSINode>& change);
  void SetMigrated(Row row, const api::CSINode& node, bool there);
  void SetDrivers(Row row, const api::CSINode* before, const api::CSINode* after);
  Row RowOf(const std::string& node) const { return nodes_.Find(node); }
  static void AddInUse(Driver& driver, Row row, std::int32_t amount);
  void SetLimit(Driver& driver, Row row, std::int32_t limit);
  // The highest number of limits that are stored as a list.
  std::size_t MostFewLimits() const { return std::max<std::size_t>(64, nodes_.rows() / 8); }
  void BuildColumns(Driver& driver);
  void DropColumns(Driver& driver);
  void FreeUnused(const std::string& driver);

  NodeTable& nodes_;
  ClusterObjects& objects_;
  DisksInUse disks_;
  TextMap<Driver> drivers_;
  TextMap<Volume> volumes_;  // by id; in use or attached on some node
  TextMap<Claim> claims_;    // by namespace/name
  TextMap<std::vector<Claim*>> claims_of_pv_;
  TextMap<Attachment> attachments_;
  TextMap<std::vector<Attachment*>> attachments_of_pv_;
  TextMap<NodeFacts> node_facts_;
  std::map<std::string, RowSet, std::less<>> migrated_from_;
  RowSet with_csi_node_;
  RowSet with_limits_;
  RowCounts uncountable_uses_;
  RowSet uncountable_;
};

}  // namespace berth::cluster
