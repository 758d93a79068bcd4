// Pod groups: their objects and the state of their members (kube-scheduler v1.37.1,
// pkg/scheduler/backend/cache/podgroupstate.go).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text_map.hpp"
#include "kubernetes/api/pod.hpp"
#include "kubernetes/api/pod_group.hpp"

namespace berth::cluster {

// Determines the group of a pod. The answer for a pod never changes.
class PodGrouping {
 public:
  virtual ~PodGrouping() = default;
  // The group's "namespace/name"; nullopt: the pod is scheduled on its own.
  virtual std::optional<std::string> GroupOf(const api::Pod& pod) const = 0;
};

// Every pod is scheduled on its own (without the feature gate GenericWorkload).
class NoGrouping final : public PodGrouping {
 public:
  std::optional<std::string> GroupOf(const api::Pod&) const override { return std::nullopt; }
};

// spec.schedulingGroup.podGroupName.
class SchedulingGroups final : public PodGrouping {
 public:
  std::optional<std::string> GroupOf(const api::Pod& pod) const override;
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
  // Null: the object has not been received.
  api::PodGroupPtr FindObject(std::string_view key) const;
  std::size_t size() const { return groups_.size(); }
  // visit(const std::string& key, const Group&), in no particular order.
  template <class Visit>
  void ForEach(Visit&& visit) const {
    for (const auto& [key, group] : groups_) visit(key, group);
  }

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
  static void AddToTask(Group& group, const std::string& task);
  static void RemoveFromTask(Group& group, const std::string& task);
  void SetStage(const api::Pod& pod, Stage stage, const std::string& node);
  static void Change(Group& group, Member& member, Stage stage, const std::string& node);
  void EraseIfEmpty(const std::string& key);

  const PodGrouping& grouping_;
  std::vector<std::shared_ptr<const ExternalGrouping>> external_;
  TextMap<External> kept_;  // the first answers, by the pods' UID; empty without external groupings
  TextMap<Group> groups_;   // by "namespace/name"
};

}  // namespace berth::cluster
