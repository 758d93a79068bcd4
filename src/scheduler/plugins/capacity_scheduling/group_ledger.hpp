// The quota groups of the cluster, what their pods request and use, and their runtime quotas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text_map.hpp"
#include "kubernetes/api/objects.hpp"
#include "scheduler/cluster/cluster_objects.hpp"
#include "scheduler/cluster/pending_pods.hpp"
#include "scheduler/cluster/pod_observer.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/plugins/capacity_scheduling/group_series.hpp"
#include "scheduler/plugins/capacity_scheduling/quota_group.hpp"
#include "scheduler/plugins/capacity_scheduling/quota_tree.hpp"
#include "scheduler/plugins/loop_task.hpp"

namespace berth::plugins {

// A pod belongs to the group that its label names; without the label, to the group of the quota that has the
// name of the pod's namespace in that namespace, or else of the first quota whose annotation lists the
// namespace; in all other cases to the default group.
//
// A group's pods request what pods on nodes, assumed pods and pods without a node request; they use what pods
// on nodes and assumed pods request. The amounts are those of the time when the pod was added. The total is
// what all nodes can allocate, without what is used by the pods of groups outside of the tree: the default
// and the system group, and groups that have a problem. Pods on nodes that do not exist do not count.
//
// Follows the node table, without overlays. Changes of pods and nodes take effect at once. A change of a
// quota's limits, labels or annotations is applied by the next call, in time linear in groups and pods. When
// requests of pods without a node decrease, rejected pods are retried within a second. Exports metrics.
// Scheduler loop only.
class GroupLedger final : public cluster::PodObserver, public cluster::PendingPodObserver {
 public:
  using GroupId = std::uint32_t;
  // By index in resources().
  using Amounts = std::vector<std::int64_t>;

  // The ledger of all plugins that are built with this handle, which must outlive it.
  static std::shared_ptr<GroupLedger> Of(framework::Handle& handle);
  explicit GroupLedger(framework::Handle& handle);
  ~GroupLedger() override;
  GroupLedger(const GroupLedger&) = delete;
  GroupLedger& operator=(const GroupLedger&) = delete;

  struct Group {
    QuotaGroup quota;
    std::string problem;                       // empty: the group has a place, or is special
    QuotaTree::Id place = QuotaTree::kRoot;    // the root: outside of the tree
    std::vector<std::uint32_t> limited;        // indices of the resources that `max` lists
    Amounts used;                              // by its pods and those of the groups below
    Amounts non_preemptible_used;              // by its own pods
    Amounts min, max;                          // 0 and INT64_MAX where `max` does not list the resource
    std::vector<GroupSeries::Values*> series;  // by resource; null: none
  };
  // These calls apply pending changes of quotas. Ids and references are valid until a quota changes.
  GroupId GroupOf(const api::Pod& pod);
  const Group& group(GroupId id) { return groups_[id]; }
  // The group and those above it, from the group upwards. Of groups outside of the tree only the group.
  std::span<const GroupId> PathOf(GroupId id);
  // What the pods of the group may use: the runtime quota; outside of the tree the maximum.
  std::span<const std::int64_t> LimitOf(GroupId id);
  // Names of the resources that the groups limit.
  std::span<const std::string> resources() const { return resources_; }
  // What the pod requests of the resources that its group limits; outside of the tree of all resources().
  Amounts RequestOf(const api::Pod& pod);

  // Whether what is used includes the pod.
  bool IsUsed(const std::string& uid) const;
  // A pod that the ledger does not know counts as one without a node until this object is destroyed.
  class Supposed;

  // Published when requests decrease without another event; see framework::WhenPluginStateChanges.
  const void* state() const { return this; }

  void OnPodAdded(cluster::Row row, const cluster::PlacedPod& pod) override;
  void OnPodRemoved(cluster::Row row, const cluster::PlacedPod& pod) override;
  void OnPendingPod(const api::PodPtr& pod) override;
  void OnPendingPodGone(const std::string& uid) override;

 private:
  // What a pod requests, by name; in ascending order of the names.
  using Requests = std::vector<std::pair<std::string, std::int64_t>>;
  struct Counted {
    api::PodPtr pod;
    Requests requests;
    GroupId group = 0;
    Amounts request;
    bool on_node = false;
    bool pending = false;
  };
  void Update();
  void Rebuild();
  void ReadGroups();
  void ReadResources();
  void FindNames();
  void PlaceGroups();
  void ShowGroups();
  void ReportProblems();
  void UpdateTotal();
  GroupId Find(const api::Pod& pod) const;
  static Requests RequestsOf(const api::Pod& pod);
  Amounts Request(const Requests& requests, GroupId id) const;
  enum class Part : std::uint8_t { kRequest, kUse };
  void Count(const Counted& counted, Part part, std::int64_t sign);
  bool AddPending(const api::PodPtr& pod);
  bool RemovePending(const std::string& uid);
  void ShowRuntimes();

  framework::Handle& handle_;
  std::vector<Group> groups_;  // the default and the system group, then by namespace and name
  TextMap<GroupId> by_name_, by_namespace_;
  std::vector<std::string> resources_;
  std::vector<cluster::ResourceId> columns_;  // by resource
  std::vector<GroupId> group_of_place_;       // by QuotaTree::Id
  std::unique_ptr<QuotaTree> tree_;
  Amounts allocatable_;    // by all nodes
  Amounts outside_;        // used by groups outside of the tree
  TextMap<Counted> pods_;  // by UID
  std::vector<GroupId> path_;
  std::map<std::string, std::string> reported_;  // problems by "namespace/name"
  std::uint64_t node_changes_ = 0;               // of the node table, in `allocatable_`
  bool stale_ = true;                            // a quota has changed
  bool total_stale_ = true;                      // a group outside of the tree uses another amount
  GroupSeries series_;
  LoopTask refresh_, retry_;
  const std::shared_ptr<const char> listening_ = std::make_shared<const char>();
};

class GroupLedger::Supposed {
 public:
  Supposed(GroupLedger& ledger, const api::PodPtr& pod);
  ~Supposed();
  Supposed(const Supposed&) = delete;
  Supposed& operator=(const Supposed&) = delete;

 private:
  GroupLedger& ledger_;
  const std::string uid_;  // empty: the pod was known
};

}  // namespace berth::plugins
