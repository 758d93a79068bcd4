#include "scheduler/plugins/preemption_toleration/tolerations.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/go_duration.hpp"
#include "base/go_scalars.hpp"
#include "kubernetes/api/objects.hpp"
#include "observability/log/log.hpp"

namespace berth::plugins {
namespace {

Expected<void> ReadAnnotation(const api::PriorityClass& object, std::string_view key, int bits,
                              std::int64_t& out) {
  const std::string* text = object.metadata.Annotation(key);
  if (text == nullptr) return {};
  auto value = ParseGoDecimal(*text, bits);
  if (!value) return std::unexpected(std::move(value).error().In(std::string(key)));
  out = *value;
  return {};
}

std::string ReasonOf(const std::string& priority_class, const Toleration& toleration) {
  std::string reason = fmt::format("priority class {} tolerates preemption by priorities below {}",
                                   priority_class, toleration.minimum);
  if (!toleration.unlimited()) {
    reason +=
        fmt::format(" for {} after scheduling", FormatGoDuration(std::chrono::seconds(toleration.seconds)));
  }
  return reason;
}

}  // namespace

Expected<Toleration> ReadToleration(const api::PriorityClass& object) {
  Toleration toleration{.minimum = std::int64_t{object.value} + 1, .seconds = 0};
  BERTH_RETURN_IF_ERROR(
      ReadAnnotation(object, api::PriorityClass::kMinimumPreemptablePriority, 32, toleration.minimum));
  BERTH_RETURN_IF_ERROR(
      ReadAnnotation(object, api::PriorityClass::kTolerationSeconds, 64, toleration.seconds));
  return toleration;
}

Tolerations::Tolerations(cluster::ClusterObjects& objects, std::function<void()> changed)
    : changed_(std::move(changed)) {
  auto& table = objects.Of<api::PriorityClass>();
  table.ForEach([&](const auto& object) { Put(*object); });
  table.ListenFor(listening_, [this](const ports::Change<api::PriorityClass>& change) {
    if (change.after != nullptr) {
      Put(*change.after);
    } else {
      by_class_.erase(change.before->metadata.name);
    }
    changed_();
  });
}

void Tolerations::Put(const api::PriorityClass& object) {
  auto read = ReadToleration(object);
  if (!read) {
    log::Error(
        "Failed to parse the preemption toleration of a priority class; its pods tolerate no preemption",
        {{"priorityClass", object.metadata.name}, {"err", read.error().message}});
  }
  const Toleration toleration = read ? *read : Toleration{.minimum = INT64_MIN, .seconds = 0};
  by_class_[object.metadata.name] = {
      toleration, framework::Status::Unschedulable(ReasonOf(object.metadata.name, toleration))};
}

const Tolerations::Entry* Tolerations::Find(std::string_view priority_class) const {
  const auto found = by_class_.find(priority_class);
  return found == by_class_.end() ? nullptr : &found->second;
}

}  // namespace berth::plugins
