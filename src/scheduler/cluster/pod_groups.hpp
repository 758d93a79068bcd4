// Pod groups: their objects, the trees that composite groups form, and the state of their members
// (kube-scheduler v1.37.1, pkg/scheduler/backend/cache/podgroupstate.go).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text_map.hpp"
#include "kubernetes/api/pod.hpp"
#include "kubernetes/api/pod_group.hpp"

namespace berth::cluster {

// The key of a group: "namespace/name". Of a composite group, which may have the name of a pod group,
// "namespace/compositepodgroups.scheduling.k8s.io/name".
std::string KeyOf(const api::PodGroup& group);
std::string CompositeKey(std::string_view ns, std::string_view name);
// The key as kube-scheduler's messages contain it: "podgroup/namespace/name" or
// "compositepodgroup/namespace/name".
std::string KeyInMessages(std::string_view key);
// The error for a group below the last level of its tree (PodGroups::kLevels).
std::string TooManyLevels(std::string_view key);

// Determines the group of a pod. The answer for a pod never changes.
class PodGrouping {
 public:
  virtual ~PodGrouping() = default;
  // The group's "namespace/name"; nullopt: the pod is scheduled on its own.
  virtual std::optional<std::string> GroupOf(const api::Pod& pod) const = 0;
  // The key of the composite group to which the group belongs; nullopt: it belongs to none.
  virtual std::optional<std::string> ParentOf(const api::PodGroup& /*group*/) const { return std::nullopt; }
};

// Every pod is scheduled on its own (without the feature gate GenericWorkload).
class NoGrouping final : public PodGrouping {
 public:
  std::optional<std::string> GroupOf(const api::Pod&) const override { return std::nullopt; }
};

// spec.schedulingGroup.podGroupName. Groups have no parents (without the feature gate CompositePodGroup).
class SchedulingGroups : public PodGrouping {
 public:
  std::optional<std::string> GroupOf(const api::Pod& pod) const override;
};

// The same, with spec.parentCompositePodGroupName of groups.
class NestedGroups final : public SchedulingGroups {
 public:
  std::optional<std::string> ParentOf(const api::PodGroup& group) const override;
};

// A group with those below it whose objects are known.
struct GroupTree {
  std::string key;
  api::PodGroupPtr object;          // not null
  std::vector<GroupTree> children;  // of a composite group, by time of creation and name
};

// Groups of other projects, for pods without spec.schedulingGroup. Their group follows from labels,
// annotations and owners, which can change; PodGroups keeps the first answer for each pod.
class ExternalGrouping {
 public:
  virtual ~ExternalGrouping() = default;
  // "namespace/name" with a qualified name (api::PodGroup); nullopt: this grouping has no group for the pod.
  virtual std::optional<std::string> GroupOf(const api::Pod& pod) const = 0;
  // The object of this group of GroupOf if its members describe it; null: it is an object of the API server.
  virtual api::PodGroupPtr Describe(const std::string& key, const api::Pod& member) const = 0;
  // The pod's task (api::PodGroup::External::TaskMinimum); empty: none.
  virtual std::string TaskOf(const api::Pod& pod) const = 0;
};

// Groups exist as long as their object or a member does. Members are identified by UID. Scheduler loop only.
class PodGroups {
 public:
  // kube-scheduler's limit for the levels of a tree, where it has one.
  static constexpr std::size_t kLevels = 4;
  // A group below more levels than these has no root here, so that walks are bounded.
  static constexpr std::size_t kMostLevels = 64;

  // Assumed: placed by this scheduler and not yet seen with a node.
  enum class Stage : std::uint8_t { kUnscheduled, kAssumed, kAssigned };
  struct Member {
    api::PodPtr pod;  // the last received version
    Stage stage = Stage::kUnscheduled;
    std::string node;  // of an assumed or assigned member
    std::string task;  // of a group of another project; may be empty
  };
  struct TaskCount {
    std::size_t members = 0;
    std::size_t scheduled = 0;
  };
  struct Group {
    api::PodGroupPtr object;                             // null: not received
    bool described = false;                              // the object was made from a member
    std::map<std::string, Member, std::less<>> members;  // by UID
    std::size_t scheduled = 0;                           // assumed or assigned members
    TextMap<TaskCount> tasks;                            // without those that have no member

    bool empty() const { return (object == nullptr || described) && members.empty(); }
  };
  struct Composite {
    api::PodGroupPtr object;                      // null: not received
    std::set<std::string, std::less<>> children;  // keys of groups whose received object names it as parent
  };

  // Must outlive this object.
  explicit PodGroups(const PodGrouping& grouping) : grouping_(grouping) {}

  // From now on, pods that have no group yet may have one of `grouping`. Must be called before the first Put.
  // Earlier groupings take precedence.
  void Add(std::shared_ptr<const ExternalGrouping> grouping) { external_.push_back(std::move(grouping)); }
  // Whether groups of other projects exist.
  bool HasExternal() const { return !external_.empty(); }

  // Whether the group is one of another project.
  bool IsExternal(std::string_view key) const;

  // For a pod that was Put and not removed, the answer at its first Put.
  std::optional<std::string> KeyOf(const api::Pod& pod) const;
  // Null: neither the object nor a member is known.
  const Group* Find(std::string_view key) const;
  // Also of composite groups. Null: the object has not been received.
  api::PodGroupPtr FindObject(std::string_view key) const;
  // Null: neither the object nor a child is known.
  const Composite* FindComposite(std::string_view key) const;
  // The number of pod groups.
  std::size_t size() const { return groups_.size(); }
  // Changes with every change of a group, its members or their stages.
  std::uint64_t version() const { return version_; }
  // visit(const std::string& key, const Group&), in no particular order.
  template <class Visit>
  void ForEach(Visit&& visit) const {
    for (const auto& [key, group] : groups_) visit(key, group);
  }

  // --- trees; a group without a parent is the root of its own ---

  std::optional<std::string> ParentOf(const api::PodGroup& group) const { return grouping_.ParentOf(group); }
  // The key of the root of the group's tree. nullopt: the group or one above it has no object yet, or there
  // are more than kMostLevels, or the parents form a cycle.
  std::optional<std::string> RootOf(std::string_view key) const;
  // Calls visit(key, const api::PodGroup&) for the group and those above it, at most kLevels, up to the first
  // one without an object.
  template <class Visit>
  void ForEachUp(std::string key, Visit&& visit) const {
    for (std::size_t level = 0; level < kLevels; ++level) {
      const api::PodGroupPtr object = FindObject(key);
      if (object == nullptr) return;
      visit(std::as_const(key), *object);
      auto parent = ParentOf(*object);
      if (!parent) return;
      key = *std::move(parent);
    }
  }
  // The pod groups in the tree below this group, or the group itself.
  std::vector<std::string> LeavesOf(const std::string& key) const;
  // Calls visit(const std::string& key, const Group&) for those of at most kLevels. Returns the key of a
  // group below them; nullopt: there is none.
  template <class Visit>
  std::optional<std::string> ForEachLeaf(const std::string& key, Visit&& visit, std::size_t level = 0) const {
    if (level >= kLevels) return key;
    std::optional<std::string> too_deep;
    if (const Composite* composite = FindComposite(key)) {
      for (const std::string& child : composite->children) {
        if (auto deeper = ForEachLeaf(child, visit, level + 1); deeper && !too_deep)
          too_deep = std::move(deeper);
      }
    } else if (const Group* group = Find(key)) {
      visit(key, *group);
    }
    return too_deep;
  }
  // Of an existing group.
  GroupTree TreeOf(const std::string& key) const;

  // --- changes ---

  void PutObject(api::PodGroupPtr object);
  void RemoveObject(std::string_view key);
  // Adds a pod or replaces its earlier version. Pods without a group are ignored by these methods. A pod
  // without a node stays assumed if it was.
  void Put(const api::PodPtr& pod);
  void Remove(const api::Pod& pod);
  // A member that was removed is ignored.
  void Assume(const api::Pod& pod, const std::string& node) { SetStage(pod, Stage::kAssumed, node); }
  void Forget(const api::Pod& pod) { SetStage(pod, Stage::kUnscheduled, ""); }

 private:
  struct External {
    std::string key;  // empty: no group
    const ExternalGrouping* grouping = nullptr;
  };
  External FindExternal(const api::Pod& pod) const;
  const External* Keep(const api::Pod& pod);
  GroupTree TreeAt(const std::string& key, api::PodGroupPtr object, std::size_t level) const;
  void AddToLeaves(const std::string& key, std::size_t level, std::vector<std::string>& leaves) const;
  void Link(const std::string& key, const std::string& parent);
  void Unlink(const std::string& key, const std::string& parent);
  static void AddToTask(Group& group, const std::string& task);
  static void RemoveFromTask(Group& group, const std::string& task);
  void SetStage(const api::Pod& pod, Stage stage, const std::string& node);
  void Change(Group& group, Member& member, Stage stage, const std::string& node);
  void EraseIfEmpty(const std::string& key);

  const PodGrouping& grouping_;
  std::vector<std::shared_ptr<const ExternalGrouping>> external_;
  TextMap<External> kept_;  // the first answers, by the pods' UID; empty without external groupings
  TextMap<Group> groups_;   // by "namespace/name"
  TextMap<Composite> composites_;
  std::uint64_t version_ = 0;
};

}  // namespace berth::cluster
