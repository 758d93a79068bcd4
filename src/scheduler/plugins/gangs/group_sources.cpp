#include "scheduler/plugins/gangs/group_sources.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "kubernetes/api/external_groups.hpp"

namespace berth::plugins {
namespace {

constexpr std::string_view kCoschedulingLabel = "scheduling.x-k8s.io/pod-group";
constexpr std::string_view kVolcanoAnnotation = "scheduling.k8s.io/group-name";
constexpr std::string_view kVolcanoTask = "volcano.sh/task-spec";
constexpr std::string_view kGroupAnnotation = "scheduling.berth.dev/group";

using Name = const std::string*;  // null: the pod has no group of the source

// Null unless an object can have the name.
Name Checked(Name name) {
  return name != nullptr && !name->empty() && name->size() <= api::kMaxNameLength ? name : nullptr;
}

bool HasLabel(const api::Pod& pod, std::string_view key, std::string_view value) {
  const std::string* found = pod.metadata.labels.Find(key);
  return found != nullptr && *found == value;
}

Name CoschedulingName(const api::Pod& pod) { return pod.metadata.labels.Find(kCoschedulingLabel); }

Name VolcanoName(const api::Pod& pod) { return pod.metadata.Annotation(kVolcanoAnnotation); }

Name JobName(const api::Pod& pod) {
  const auto& owner = pod.metadata.controller;
  return owner && owner->kind == "Job" && owner->api_version == "batch/v1" ? &owner->name : nullptr;
}

// The driver is scheduled on its own: executors exist only after it has started.
Name SparkName(const api::Pod& pod) {
  return HasLabel(pod, "spark-role", "executor") ? pod.metadata.labels.Find("spark-app-selector") : nullptr;
}

Name FlinkName(const api::Pod& pod) {
  const bool is_task_manager =
      HasLabel(pod, "type", "flink-native-kubernetes") && HasLabel(pod, "component", "taskmanager");
  return is_task_manager ? pod.metadata.labels.Find("app") : nullptr;
}

Name AnnotatedName(const api::Pod& pod) { return pod.metadata.Annotation(kGroupAnnotation); }

}  // namespace

struct GroupSources::Source {
  std::string_view name;
  Name (*name_of)(const api::Pod& pod);
  std::string_view prefix;      // of the group's name
  bool has_object = false;      // the group has an object; its resource is `prefix`
  std::string_view annotation;  // that name_of reads; may be empty
  bool needs_count = false;     // a member without api::kMinMembersAnnotation is an error
};

constexpr std::array<GroupSources::Source, 6> GroupSources::kSources = {{
    {"Coscheduling", CoschedulingName, api::CoschedulingPodGroup::kSource, true, ""},
    {"Volcano", VolcanoName, api::VolcanoPodGroup::kSource, true, kVolcanoAnnotation},
    {"Job", JobName, api::Job::kSource, true, ""},
    {"Spark", SparkName, "spark", false, ""},
    {"Flink", FlinkName, "flink", false, ""},
    {"Annotation", AnnotatedName, "group", false, kGroupAnnotation, true},
}};

const GroupSources::Source& GroupSources::SourceNamed(std::string_view name) {
  const auto found = std::ranges::find(kSources, name, &Source::name);
  BERTH_CHECK(found != kSources.end(), name);
  return *found;
}

GroupSources::GroupSources(std::span<const std::string> names, std::string scheduler_name)
    : scheduler_name_(std::move(scheduler_name)) {
  for (const std::string& name : names) sources_.push_back(&SourceNamed(name));
}

std::vector<std::string> GroupSources::Names() {
  std::vector<std::string> names;
  for (const Source& source : kSources) names.emplace_back(source.name);
  return names;
}

std::vector<std::string> GroupSources::Annotations() const {
  std::vector<std::string> annotations{std::string(api::kMinMembersAnnotation), std::string(kVolcanoTask)};
  for (const Source* source : sources_) {
    if (!source->annotation.empty()) annotations.emplace_back(source->annotation);
  }
  return annotations;
}

std::vector<std::string> GroupSources::Resources() const {
  std::vector<std::string> resources;
  for (const Source* source : sources_) {
    if (source->has_object) resources.emplace_back(source->prefix);
  }
  return resources;
}

std::optional<std::string> GroupSources::GroupOf(const api::Pod& pod) const {
  if (pod.spec.scheduler_name != scheduler_name_) return std::nullopt;
  for (const Source* source : sources_) {
    const Name name = Checked(source->name_of(pod));
    if (name == nullptr) continue;
    return fmt::format("{}/{}", pod.metadata.ns.str(), api::QualifiedGroupName(source->prefix, *name));
  }
  return std::nullopt;
}

api::PodGroupPtr GroupSources::Describe(const std::string& key, const api::Pod& member) const {
  const std::string_view name = std::string_view(key).substr(key.find('/') + 1);
  const std::string_view prefix = name.substr(0, name.find('/'));
  const auto source = std::ranges::find(kSources, prefix, &Source::prefix);
  BERTH_CHECK(source != kSources.end(), key);
  if (source->has_object) return nullptr;

  auto group = std::make_shared<api::PodGroup>();
  group->metadata.ns = member.metadata.ns;
  group->metadata.name = name;
  group->metadata.uid = key;
  api::MinMembers own = api::ReadMinMembers(member.metadata);
  api::PodGroup::External external{.invalid = std::move(own.invalid)};
  if (own.count) {
    group->gang = api::PodGroup::Gang{*own.count};
  } else if (external.invalid.empty() && source->needs_count) {
    external.invalid = fmt::format("annotation {}: Required value: the number of members that start together",
                                   api::kMinMembersAnnotation);
  }
  group->external = std::make_shared<const api::PodGroup::External>(std::move(external));
  return group;
}

std::string GroupSources::TaskOf(const api::Pod& pod) const {
  const Name task = Checked(pod.metadata.Annotation(kVolcanoTask));
  return task == nullptr ? "" : *task;
}

}  // namespace berth::plugins
