#include "kubernetes/api/external_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace berth::api {
namespace {

constexpr std::size_t kShownText = 64;  // of an invalid value, in bytes

PodGroupPtr Convert(const ObjectMeta& meta, std::string_view source, std::int32_t min_count,
                    PodGroup::External external) {
  auto group = std::make_shared<PodGroup>();
  group->metadata = meta;
  group->metadata.name = QualifiedGroupName(source, meta.name);
  group->gang = PodGroup::Gang{min_count};
  group->external = std::make_shared<const PodGroup::External>(std::move(external));
  return group;
}

// Why a map with names as keys may not be used; empty: it may.
template <class Entries, class NameOf>
std::string CheckEntries(std::string_view field, const Entries& entries, NameOf&& name_of) {
  if (entries.size() > kMaxGroupEntries)
    return fmt::format("{}: {} entries: must have at most {}", field, entries.size(), kMaxGroupEntries);
  for (const auto& entry : entries) {
    const std::string& name = name_of(entry);
    if (name.size() > kMaxNameLength)
      return fmt::format("{}: a name of {} bytes: must have at most {}", field, name.size(), kMaxNameLength);
  }
  return {};
}

void SetMinResources(const ResourceList& given, PodGroup::External& external) {
  external.invalid =
      CheckEntries("spec.minResources", given, [](const auto& entry) -> auto& { return entry.first; });
  if (external.invalid.empty()) external.min_resources = given;
}

}  // namespace

std::string QualifiedGroupName(std::string_view source, std::string_view name) {
  return fmt::format("{}/{}", source, name);
}

MinMembers ReadMinMembers(const ObjectMeta& meta) {
  const std::string* text = meta.Annotation(kMinMembersAnnotation);
  if (text == nullptr) return {};
  std::int32_t count = 0;
  const char* const end = text->data() + text->size();
  const auto parsed = std::from_chars(text->data(), end, count);
  if (parsed.ec == std::errc{} && parsed.ptr == end && count >= 1) return {count, ""};
  return {std::nullopt, fmt::format("annotation {}: Invalid value: \"{}\": must be an integer of at least 1",
                                    kMinMembersAnnotation, text->substr(0, kShownText))};
}

PodGroupPtr ToPodGroup(const CoschedulingPodGroup& group) {
  PodGroup::External external;
  SetMinResources(group.min_resources, external);
  // As in scheduler-plugins, where 0 and less stand for the default.
  if (group.schedule_timeout_seconds.value_or(0) > 0)
    external.permit_timeout = std::chrono::seconds(*group.schedule_timeout_seconds);
  return Convert(group.metadata, group.kSource, group.min_member, std::move(external));
}

PodGroupPtr ToPodGroup(const VolcanoPodGroup& group) {
  PodGroup::External external;
  SetMinResources(group.min_resources, external);
  std::string invalid = CheckEntries("spec.minTaskMember", group.min_task_member,
                                     [](const auto& entry) -> auto& { return entry.task; });
  if (invalid.empty()) {
    external.task_minimums = group.min_task_member;
  } else {
    external.invalid = std::move(invalid);
  }
  return Convert(group.metadata, group.kSource, group.min_member, std::move(external));
}

PodGroupPtr ToPodGroup(const Job& job) {
  const std::int64_t left =
      job.completions ? std::max<std::int64_t>(0, std::int64_t{*job.completions} - job.succeeded) : INT32_MAX;
  MinMembers own = ReadMinMembers(job.metadata);
  const std::int64_t wanted = std::min<std::int64_t>(own.count.value_or(INT32_MAX), job.parallelism);
  return Convert(job.metadata, job.kSource, static_cast<std::int32_t>(std::min(left, wanted)),
                 {.invalid = std::move(own.invalid)});
}

bool SameExternalGroup(const PodGroup& a, const PodGroup& b) {
  return a.metadata.uid == b.metadata.uid && a.gang == b.gang && *a.external == *b.external;
}

}  // namespace berth::api
