// Which volumes the pods on each node use, and how many of each CSI driver a node may take: counters that
// follow the cluster, so that no decision looks at the pods of a node.
#pragma once

#include <boost/unordered_map.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kubernetes/api/objects.hpp"
#include "base/row_set.hpp"
#include "scheduler/cluster/cluster_objects.hpp"
#include "scheduler/cluster/disks_in_use.hpp"
#include "scheduler/cluster/node_table.hpp"
#include "scheduler/cluster/row_counts.hpp"

namespace berth::cluster {

// The name of the claim behind a volume; for an ephemeral volume that is "<pod>-<volume>". Nothing if the
// volume is of another kind.
std::optional<std::string> ClaimNameOf(const api::Pod& pod, const api::Volume& volume);
// Does a volume of the pod stand on the claim?
bool IsClaimOf(const api::Pod& pod, const api::PersistentVolumeClaim& claim);
// Is the pod the claim's controller? The claim of an ephemeral volume must be its pod's.
bool MadeFor(const api::Pod& pod, const api::PersistentVolumeClaim& claim);
std::string NotMadeFor(const api::Pod& pod, const api::PersistentVolumeClaim& claim);

// A volume as a CSI driver counts it.
struct CsiVolume {
  std::string driver;
  std::string id;         // "<driver>/<handle>", unique; empty: no driver counts the volume
  bool migrated = false;  // counts only on nodes with a CSINode
};

// A pod's volume, or why it cannot be told what it is.
struct LookedUp {
  CsiVolume volume;
  std::string error;           // in kube-scheduler's words; empty: none
  bool claim_missing = false;  // that is the error: matters for pods that want a place only
};

// Volumes are resolved as NodeVolumeLimits of kube-scheduler v1.37.1 does: from what the API server says,
// never from assumptions. One per cluster, for all profiles; outlived by table and objects. One thread: the
// loop's.
class VolumesInUse final : private PodObserver {
 public:
  // `nodes` without pods.
  VolumesInUse(NodeTable& nodes, ClusterObjects& objects);
  ~VolumesInUse() override;
  VolumesInUse(const VolumesInUse&) = delete;
  VolumesInUse& operator=(const VolumesInUse&) = delete;

  // --- claims and disks
  // Does a pod on some node use the claim, other than as an ephemeral volume?
  bool ClaimIsUsed(std::string_view ns, std::string_view claim) const;
  const DisksInUse& disks() const { return disks_; }

  // --- CSI drivers
  static constexpr std::int32_t kNoLimit = INT32_MAX;
  struct Driver {
    std::vector<std::int32_t> in_use;  // by row: volumes that pods use or that are attached; where limits are
    std::vector<std::int32_t> limit;   // by row
    RowSet installed;
  };
  CsiVolume Resolve(const api::PersistentVolumeClaim& claim) const;
  LookedUp LookUp(const api::Pod& pod, const api::Volume& volume) const;
  // Null if no node ever had the driver.
  const Driver* FindDriver(const std::string& name) const;
  // Visits the rows whose pods use the volume.
  template <class Visit>
  void ForEachUser(const std::string& volume_id, Visit&& visit) const {
    const auto found = volumes_.find(volume_id);
    if (found == volumes_.end()) return;
    found->second.used.ForEach([&](Row row, RowCounts::Count) { visit(row); });
  }
  bool IsUsed(const std::string& volume_id, Row row) const;
  const RowSet& with_csi_node() const { return with_csi_node_; }
  const RowSet& with_limits() const { return with_limits_; }  // of any driver
  // Rows where the CSI driver has taken over from a plugin of Kubernetes ("kubernetes.io/aws-ebs"); null:
  // none.
  const RowSet* MigratedFrom(std::string_view plugin) const;
  // Rows with a pod whose volumes cannot be counted, and why (of several, one).
  const RowSet& uncountable() const { return uncountable_; }
  std::string WhyUncountable(Row row) const;

 private:
  struct Volume {
    explicit Volume(Driver& driver) : driver(driver) {}
    Driver& driver;
    RowCounts used;
    RowCounts attached;
  };
  // A claim that a pod on some node uses.
  struct Claim {
    std::string ns, name;
    std::uint32_t direct_uses = 0;  // not as an ephemeral volume
    RowCounts uses;
    std::vector<std::pair<Row, api::PodPtr>> ephemeral;
    RowCounts wrong;  // uses by pods it was not made for
    CsiVolume volume;
    std::string pv;  // whose changes matter; as claims_of_pv_ knows it
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

  void PodAppears(Row row, const PlacedPod& pod, bool) override { Count(row, pod, 1); }
  void PodLeaves(Row row, const PlacedPod& pod, bool) override { Count(row, pod, -1); }
  void NodeAppears(Row row) override;
  void NodeLeaves(Row row) override;

  // `amount` is how many more there are.
  void Count(Row row, const PlacedPod& pod, int amount);
  void CountClaim(Row row, const api::PodPtr& pod, const api::Volume& volume, int amount);
  void CountTrouble(Row row, int amount);
  void CountUses(const Claim& claim, int sign);
  void Use(const CsiVolume& volume, Row row, int amount);
  void Attach(const CsiVolume& volume, Row row, int amount);
  void Count(const CsiVolume& volume, Row row, int amount, RowCounts Volume::* what,
             RowCounts Volume::* other);

  CsiVolume ResolveByClass(const api::PersistentVolumeClaim& claim) const;
  void Update(Claim& claim);
  void JudgeOwners(Claim& claim);
  void SetPv(Claim& claim, std::string pv);
  void Update(Attachment& attachment);
  void AttachmentChanged(const ports::Change<api::VolumeAttachment>& change);
  void Forget(const std::string& attachment);
  void PvChanged(const std::string& name);
  void CsiNodeChanged(const ports::Change<api::CSINode>& change);
  void SetMigrated(Row row, const api::CSINode& node, bool there);
  void SetDrivers(Row row, const api::CSINode* before, const api::CSINode* after);
  Row RowOf(const std::string& node) const { return nodes_.Find(nodes_.symbols().node_names.Find(node)); }
  Driver& DriverOf(const std::string& name);

  NodeTable& nodes_;
  ClusterObjects& objects_;
  DisksInUse disks_;
  boost::unordered_map<std::string, Driver> drivers_;
  boost::unordered_map<std::string, Volume> volumes_;  // by id; in use or attached somewhere
  boost::unordered_map<std::string, Claim> claims_;    // by namespace/name
  boost::unordered_map<std::string, std::vector<Claim*>> claims_of_pv_;
  boost::unordered_map<std::string, Attachment> attachments_;
  boost::unordered_map<std::string, std::vector<Attachment*>> attachments_of_pv_;
  boost::unordered_map<std::string, NodeFacts> node_facts_;
  std::map<std::string, RowSet, std::less<>> migrated_from_;
  RowSet with_csi_node_;
  RowSet with_limits_;
  RowCounts trouble_;
  RowSet uncountable_;
};

}  // namespace berth::cluster
