// All or nothing for pods of groups of other projects: kubernetes-sigs/scheduler-plugins, Volcano, Jobs,
// Spark, Flink (ADR 0009). Off by default.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "scheduler/cluster/pod_groups.hpp"
#include "scheduler/framework/group_plugin.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/plugins/gang_scheduling/waiting_members.hpp"
#include "scheduler/plugins/gangs/gangs_args.hpp"

namespace berth::plugins {

// Registers the sources of its arguments with PodGroups, so that the queue and the group cycle treat the pods
// as members of groups. PreEnqueue gates a member until its group and enough members, in all and of each
// task, exist. PlacementFeasible fails a group for which the cluster has not minResources free, or that
// cannot be complete. Permit holds placed members until enough are placed. Pods without such a group pass.
class Gangs : public framework::PreEnqueuePlugin,
              public framework::PermitPlugin,
              public framework::PlacementFeasiblePlugin {
 public:
  // Only pods with this schedulerName are members. `name`: of the plugin, a string literal.
  Gangs(std::string_view name, const GangsArgs& args, const std::string& scheduler_name,
        framework::Handle& handle);
  static framework::PluginOrError Create(const framework::RawArgs& raw, framework::Handle& handle);

  std::string_view Name() const override { return name_; }
  bool StateIsDerived() const override { return true; }
  framework::Status PreEnqueue(const cluster::PodInfo& pod) const override;
  framework::Status PlacementFeasible(const api::PodGroup& group,
                                      const framework::PlacementProgress& progress) const override;
  framework::PermitResult Permit(const framework::Placement& placement) override;
  std::vector<framework::EventRegistration> EventsToRegister() const override;

 private:
  // The key of the pod's group; nullopt: the pod has no group of another project.
  std::optional<std::string> KeyOf(const api::Pod& pod) const;
  framework::Status Waiting(std::string_view name, const cluster::PodGroups::Group& group) const;
  std::string IncompleteTask(const cluster::PodGroups::Group& group,
                             std::span<const api::Pod* const> placed) const;

  const std::string_view name_;
  const std::size_t max_members_;
  const Duration permit_timeout_;
  const std::shared_ptr<const cluster::ExternalGrouping> grouping_;
  framework::Handle& handle_;
  const cluster::PodGroups& groups_;
  // As in GangScheduling: by name, because a member is allowed under the name of its plugin.
  struct Shared {
    std::optional<WaitingMembers> waiting;
  };
  const std::shared_ptr<Shared> shared_;
  WaitingMembers& waiting_;
};

// Gangs under the name and with the arguments of scheduler-plugins' Coscheduling, including its queue order:
// priority, then the time at which the pod or the first member of its group could first be tried, then the
// name.
class Coscheduling final : public Gangs, public framework::QueueSortPlugin {
 public:
  Coscheduling(const CoschedulingArgs& args, const std::string& scheduler_name, framework::Handle& handle);
  static framework::PluginOrError Create(const framework::RawArgs& raw, framework::Handle& handle);

  bool Less(const framework::QueuedEntity& a, const framework::QueuedEntity& b) const override;
};

config::ArgsCodec GangsArgsCodec();
config::ArgsCodec CoschedulingArgsCodec();

}  // namespace berth::plugins
