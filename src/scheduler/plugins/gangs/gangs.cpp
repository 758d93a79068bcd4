#include "scheduler/plugins/gangs/gangs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text_map.hpp"
#include "scheduler/framework/queued_pod.hpp"
#include "scheduler/plugins/gang_scheduling/gang_scheduling.hpp"
#include "scheduler/plugins/gangs/free_resources.hpp"
#include "scheduler/plugins/gangs/group_sources.hpp"

namespace berth::plugins {

using cluster::PodGroups;
using framework::Code;
using framework::EventResource;
using framework::Hint;
using framework::Status;

namespace {

// The name of the group in messages, as kubectl accepts it.
std::string_view QualifiedNameOf(std::string_view key) { return key.substr(key.find('/') + 1); }

std::shared_ptr<const cluster::ExternalGrouping> Register(const GangsArgs& args,
                                                          const std::string& scheduler_name,
                                                          framework::Handle& handle) {
  auto sources = std::make_shared<const GroupSources>(args.sources, scheduler_name);
  std::ranges::move(sources->Annotations(), std::back_inserter(handle.annotations));
  std::ranges::move(sources->Resources(), std::back_inserter(handle.requested_resources));
  handle.groups.Add(sources);
  return sources;
}

}  // namespace

Gangs::Gangs(std::string_view name, const GangsArgs& args, const std::string& scheduler_name,
             framework::Handle& handle)
    : name_(name),
      max_members_(static_cast<std::size_t>(args.max_members)),
      permit_timeout_(std::chrono::seconds(args.permit_waiting_time_seconds)),
      grouping_(Register(args, scheduler_name, handle)),
      handle_(handle),
      groups_(handle.groups),
      shared_(handle.Keep<Shared>(std::string(name))),
      waiting_(shared_->waiting ? *shared_->waiting : shared_->waiting.emplace(handle)) {}

std::optional<std::string> Gangs::KeyOf(const api::Pod& pod) const {
  auto key = groups_.KeyOf(pod);
  if (key && !groups_.IsExternal(*key)) return std::nullopt;
  return key;
}

Status Gangs::PreEnqueue(const cluster::PodInfo& pod) const {
  const auto key = KeyOf(*pod.pod);
  if (!key) return {};
  const PodGroups::Group* group = groups_.Find(*key);
  if (group == nullptr || group->object == nullptr)
    return Status::Unresolvable(fmt::format("waiting for {} to be created", QualifiedNameOf(*key)));
  return Waiting(QualifiedNameOf(*key), *group);
}

// Why the members of the group cannot be tried yet.
Status Gangs::Waiting(std::string_view name, const PodGroups::Group& group) const {
  const api::PodGroup::External& rules = *group.object->external;
  const std::size_t members = group.members.size();
  if (!rules.invalid.empty()) return Status::Unresolvable(rules.invalid);
  if (members > max_members_) {
    return Status::Unresolvable(
        fmt::format("{} has {} members: must have at most {} (maxMembers)", name, members, max_members_));
  }
  if (std::cmp_less(members, group.object->min_count())) {
    return Status::Unresolvable(
        fmt::format("waiting for members of {}: {} of {} exist", name, members, group.object->min_count()));
  }
  for (const auto& [task, min_count] : rules.task_minimums) {
    const auto found = group.tasks.find(task);
    const std::size_t of_task = found == group.tasks.end() ? 0 : found->second.members;
    if (std::cmp_less(of_task, min_count)) {
      return Status::Unresolvable(fmt::format("waiting for members of {}: {} of {} of task \"{}\" exist",
                                              name, of_task, min_count, task));
    }
  }
  return {};
}

Status Gangs::PlacementFeasible(const api::PodGroup& group,
                                const framework::PlacementProgress& progress) const {
  if (group.external == nullptr) return {};
  const PodGroups::Group* known = groups_.Find(group.metadata.Key());
  if (known == nullptr) return Status::Error(fmt::format("{} has no members", group.metadata.Key()));
  // Later, members that were placed in this cycle are on their nodes. Until one is placed, nothing changes,
  // and each of thousands of members may fail.
  if (!progress.begun && !group.external->min_resources.empty()) {
    if (const std::string missing = MissingResources(group.external->min_resources, *known, handle_);
        !missing.empty())
      return Status::Unschedulable("minResources are not free: " + missing);
  }
  Status counted = MinCountStatus(group.min_count(), progress);
  if (!counted.ok() || group.external->task_minimums.empty()) return counted;
  if (progress.remaining > 0) return {Code::kWait, {"tasks are not yet complete"}, {}};
  const std::string incomplete = IncompleteTask(*known, progress.placed);
  return incomplete.empty() ? Status() : Status::Unschedulable(incomplete);
}

std::string Gangs::IncompleteTask(const PodGroups::Group& group,
                                  std::span<const api::Pod* const> placed) const {
  const auto& minimums = group.object->external->task_minimums;
  if (minimums.empty()) return {};
  TextMap<std::size_t> placed_of;  // by task
  for (const api::Pod* pod : placed) ++placed_of[grouping_->TaskOf(*pod)];
  for (const auto& [task, min_count] : minimums) {
    const auto found = group.tasks.find(task);
    const auto now = placed_of.find(task);
    const std::size_t scheduled = (found == group.tasks.end() ? 0 : found->second.scheduled) +
                                  (now == placed_of.end() ? 0 : now->second);
    if (std::cmp_less(scheduled, min_count))
      return fmt::format("task \"{}\" needs {} members: {} can be scheduled", task, min_count, scheduled);
  }
  return {};
}

framework::PermitResult Gangs::Permit(const framework::Placement& placement) {
  const auto key = KeyOf(*placement.pod.pod);
  if (!key) return {};
  const PodGroups::Group* group = groups_.Find(*key);
  // As in scheduler-plugins, it may have been deleted since.
  if (group == nullptr || group->object == nullptr) return {Status::Unschedulable("PodGroup not found")};
  const bool complete =
      !std::cmp_less(group->scheduled, group->object->min_count()) && IncompleteTask(*group, {}).empty();
  if (complete) {
    waiting_.Allow(*key, Name());
    return {};
  }
  handle_.scheduler.ActivateMembers(*key);
  waiting_.Keep(*key, placement.pod.pod->metadata.uid);
  const auto own_timeout = group->object->external->permit_timeout;
  return {
      {Code::kWait, {fmt::format("waiting for members of {} to be scheduled", QualifiedNameOf(*key))}, {}},
      own_timeout ? *own_timeout : permit_timeout_};
}

std::vector<framework::EventRegistration> Gangs::EventsToRegister() const {
  const auto pod_added = [this](const cluster::PodInfo& waiting, const api::Pod*, const api::Pod* added) {
    const auto group = KeyOf(*waiting.pod);
    return framework::QueueIf(group && group == groups_.KeyOf(*added));
  };
  const auto group_changed = [this](const cluster::PodInfo& waiting, const api::PodGroup*,
                                    const api::PodGroup* changed) {
    const auto group = KeyOf(*waiting.pod);
    return framework::QueueIf(group && *group == changed->metadata.Key());
  };
  return {framework::When<api::Pod>(EventResource::kUnscheduledPod, framework::kAdd, pod_added),
          framework::When<api::Pod>(EventResource::kAssignedPod, framework::kAdd, pod_added),
          framework::When<api::PodGroup>(EventResource::kPodGroup, framework::kAdd, group_changed),
          framework::When<api::PodGroup>(EventResource::kPodGroup, framework::kUpdate, group_changed)};
}

framework::PluginOrError Gangs::Create(const framework::RawArgs& raw, framework::Handle& handle) {
  BERTH_TRY(const GangsArgs args, framework::ParseArgs(raw, {}, framework::typed_args::Decode<GangsArgs>,
                                                       framework::typed_args::Check<GangsArgs>));
  return std::make_unique<Gangs>("Gangs", args, raw.scheduler_name, handle);
}

config::ArgsCodec GangsArgsCodec() { return framework::TypedArgsCodec<GangsArgs>(); }

// --- Coscheduling ---

// A waiting time of 0 stands for the default, as in scheduler-plugins.
Coscheduling::Coscheduling(const CoschedulingArgs& args, const std::string& scheduler_name,
                           framework::Handle& handle)
    : Gangs("Coscheduling",
            {.sources = {"Coscheduling"},
             .permit_waiting_time_seconds =
                 args.permit_waiting_time_seconds > 0 ? args.permit_waiting_time_seconds : 60},
            scheduler_name, handle) {}

bool Coscheduling::Less(const framework::QueuedEntity& a, const framework::QueuedEntity& b) const {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.first_attempt_ready != b.first_attempt_ready) return a.first_attempt_ready < b.first_attempt_ready;
  return a.leading_pod().info.key < b.leading_pod().info.key;
}

framework::PluginOrError Coscheduling::Create(const framework::RawArgs& raw, framework::Handle& handle) {
  BERTH_TRY(const CoschedulingArgs args,
            framework::ParseArgs(raw, {}, framework::typed_args::Decode<CoschedulingArgs>,
                                 framework::typed_args::Check<CoschedulingArgs>));
  return std::make_unique<Coscheduling>(args, raw.scheduler_name, handle);
}

config::ArgsCodec CoschedulingArgsCodec() { return framework::TypedArgsCodec<CoschedulingArgs>(); }

}  // namespace berth::plugins
