// Which volumes the pods on each node use, and how many of each CSI driver a node may take: counters that follow
// the cluster, so that no decision looks at the pods of a node.
#pragma once

#include <boost/unordered_map.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/objects.hpp"
#include "base/row_counts.hpp"
#include "base/row_set.hpp"
#include "framework/cluster_objects.hpp"
#include "framework/disks_in_use.hpp"
#include "framework/node_table.hpp"

namespace berth::framework {

// "<pod>-<volume>": the claim that is made for an ephemeral volume.
std::string EphemeralClaimName(const api::Pod& pod, const api::Volume& volume);
// Empty if the volume is no claim's.
std::string ClaimNameOf(const api::Pod& pod, const api::Volume& volume);
// Is the pod the claim's controller? A claim of an ephemeral volume must be its pod's.
bool MadeFor(const api::Pod& pod, const api::PersistentVolumeClaim& claim);
std::string NotMadeFor(const api::Pod& pod, const api::PersistentVolumeClaim& claim);

// A volume as a CSI driver counts it.
struct CsiVolume {
  std::string driver;
  std::string id;         // "<driver>/<handle>", unique; empty: no driver counts the volume
  bool migrated = false;  // counts only on nodes with a CSINode
};

// Volumes are resolved as NodeVolumeLimits of kube-scheduler v1.37.1 does: from what the API server says, never
// from assumptions. One per cluster, for all profiles; outlived by table and objects. One thread: the loop's.
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
  // Null if no node ever had the driver.
  const Driver* FindDriver(std::string_view name) const;
  // Visits the rows whose pods use the volume.
  template <class Visit>
  void ForEachUser(const std::string& volume_id, Visit&& visit) const {
    const auto found = volumes_.find(volume_id);
    if (found == volumes_.end()) return;
    for (const RowCounts::Entry& entry : found->second->used) visit(entry.row);
  }
  bool IsUsed(const std::string& volume_id, Row row) const;
  const RowSet& with_csi_node() const { return with_csi_node_; }
  const RowSet& with_limits() const { return with_limits_; }  // of any driver
  // Rows with a pod whose volumes cannot be counted, and why (of several, one).
  const RowSet& uncountable() const { return uncountable_; }
  std::string WhyUncountable(Row row) const;

 private:
  struct Volume {
    Driver& driver;
    RowCounts used;
    RowCounts attached;
  };
  using VolumeRef = std::shared_ptr<Volume>;
  // A claim that a pod on some node uses.
  struct Claim {
    std::string ns, name;
    std::uint32_t direct_uses = 0;  // not as an ephemeral volume
    RowCounts uses;
    std::vector<std::pair<Row, api::PodPtr>> ephemeral;
    RowCounts wrong;  // uses by pods it was not made for
    std::string volume_id;
    std::string pv;  // whose changes matter; as claims_of_pv_ knows it
  };
  struct Attachment {
    std::string node;
    std::string pv;
    std::string attacher;
    std::string volume_id;
  };
  struct NodeFacts {
    std::shared_ptr<const api::CSINode> csi_node;
    std::vector<Attachment*> attachments;
  };

  void PodAppears(Row row, const PlacedPod& pod, bool imagined) override { Count(row, pod, true); }
  void PodLeaves(Row row, const PlacedPod& pod, bool imagined) override { Count(row, pod, false); }
  void NodeAppears(Row row) override;
  void NodeLeaves(Row row) override;
  void Listen();

  void Count(Row row, const PlacedPod& pod, bool appears);
  void CountClaim(Row row, const api::PodPtr& pod, const api::Volume& volume, bool appears);
  void CountInline(Row row, const api::Volume& volume, bool appears);
  void CountTrouble(Row row, bool more);
  void Resolve(Claim& claim);
  void JudgeOwners(Claim& claim);
  void CountUses(const Claim& claim, bool more);
  void Use(const std::string& volume_id, Row row, std::uint32_t times, bool more);
  void Attach(const Attachment& attachment, Row row, bool more);
  void Resolve(Attachment& attachment);
  void ClaimChanged(const api::PersistentVolumeClaim& claim);
  void PvChanged(const std::string& name);
  void ClassChanged();
  void AttachmentChanged(const Change<api::VolumeAttachment>& change);
  void CsiNodeChanged(const Change<api::CSINode>& change);
  void SetDrivers(Row row, const api::CSINode* before, const api::CSINode* after);
  Row RowOf(const std::string& node) const { return nodes_.Find(nodes_.vocabulary().node_names.Find(node)); }
  Volume& VolumeOf(const std::string& id);
  void DropIfUnused(const std::string& id, const Volume& volume);
  Driver& DriverOf(std::string_view name);

  NodeTable& nodes_;
  ClusterObjects& objects_;
  DisksInUse disks_;
  boost::unordered_map<std::string, Driver> drivers_;
  boost::unordered_map<std::string, std::unique_ptr<Volume>> volumes_;
  boost::unordered_map<std::string, Claim> claims_;  // by namespace/name
  boost::unordered_map<std::string, std::vector<Claim*>> claims_of_pv_;
  boost::unordered_map<std::string, Attachment> attachments_;
  boost::unordered_map<std::string, std::vector<Attachment*>> attachments_of_pv_;
  boost::unordered_map<std::string, NodeFacts> node_facts_;
  RowSet with_csi_node_;
  RowSet with_limits_;
  RowCounts trouble_;
  RowSet uncountable_;
};

}  // namespace berth::framework
