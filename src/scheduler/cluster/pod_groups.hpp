// Pod groups: their objects and the state of their members (kube-scheduler v1.37.1,
// pkg/scheduler/backend/cache/podgroupstate.go).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

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

// Groups exist as long as their object or a member does. Members are identified by UID. Scheduler loop only.
class PodGroups {
 public:
  // Assumed: placed by this scheduler and not yet seen with a node.
  enum class Stage : std::uint8_t { kUnscheduled, kAssumed, kAssigned };
  struct Member {
    api::PodPtr pod;  // the last received version
    Stage stage = Stage::kUnscheduled;
    std::string node;  // of an assumed or assigned member
  };
  struct Group {
    api::PodGroupPtr object;                             // null: not received
    std::map<std::string, Member, std::less<>> members;  // by UID
    std::size_t scheduled = 0;                           // assumed or assigned members

    bool empty() const { return object == nullptr && members.empty(); }
  };

  // Must outlive this object.
  explicit PodGroups(const PodGrouping& grouping) : grouping_(grouping) {}

  std::optional<std::string> KeyOf(const api::Pod& pod) const { return grouping_.GroupOf(pod); }
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
  void SetStage(const api::Pod& pod, Stage stage, const std::string& node);
  static void Change(Group& group, Member& member, Stage stage, const std::string& node);
  void EraseIfEmpty(const std::string& key);

  const PodGrouping& grouping_;
  TextMap<Group> groups_;  // by "namespace/name"
};

}  // namespace berth::cluster
