#include "scheduler/plugins/preemption_toleration/preemption_toleration.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_fields.hpp"
#include "kubernetes/api/decode_common.hpp"
#include "scheduler/plugins/encode_later.hpp"

namespace berth::plugins {

using framework::Status;

namespace {

constexpr framework::ClusterEvent kTolerationEnd{framework::EventResource::kPluginState, framework::kUpdate,
                                                 "PreemptionTolerationEnd"};

}  // namespace

PreemptionToleration::PreemptionToleration(const DefaultPreemptionArgs& args, const std::string& profile,
                                           framework::Handle& handle)
    : handle_(handle),
      preemption_(args, handle, DisruptionBudgets::Counting::kAll),
      retry_(handle, handle.Keep<RetryTime::State>("PreemptionToleration " + profile), kTolerationEnd),
      tolerations_(handle.objects, [this] { retry_.At(UnixSeconds(handle_.loop.WallNow())); }) {
  handle.requested_resources.emplace_back("priorityclasses.scheduling.k8s.io");
}

Status PreemptionToleration::MayEvict(const framework::Preemptor& preemptor, const api::Pod& victim) {
  const std::string& priority_class = victim.spec.priority_class_name.str();
  if (priority_class.empty()) return {};
  const Tolerations::Entry* const known = tolerations_.Find(priority_class);
  if (known == nullptr)
    return Status::Error(fmt::format("priorityclass.scheduling.k8s.io \"{}\" not found", priority_class));
  const Toleration& toleration = known->toleration;
  if (preemptor.priority >= toleration.minimum) return {};
  if (!toleration.unlimited() && std::ranges::any_of(victim.status.conditions, api::IsScheduled)) {
    const std::int64_t end = victim.status.scheduled_time + toleration.seconds;
    if (end <= UnixSeconds(handle_.loop.WallNow())) return {};
    retry_.At(end);
  }
  return known->refusal;
}

std::vector<framework::EventRegistration> PreemptionToleration::EventsToRegister() const {
  std::vector<framework::EventRegistration> events = preemption_.EventsToRegister();
  std::ranges::move(retry_.Events(), std::back_inserter(events));
  return events;
}

Expected<framework::StateEncoder> PreemptionToleration::SaveState() { return EncodeLater(retry_.Save()); }

Expected<void> PreemptionToleration::RestoreState(std::string_view text) {
  BERTH_TRY(const RetryTime::Saved saved, ReadJsonFields<RetryTime::Saved>(text));
  retry_.Restore(saved);
  return {};
}

framework::PluginOrError PreemptionToleration::Create(const framework::RawArgs& raw,
                                                      framework::Handle& handle) {
  BERTH_TRY(const DefaultPreemptionArgs args, ParsePreemptionTolerationArgs(raw));
  return std::make_unique<PreemptionToleration>(args, raw.scheduler_name, handle);
}

}  // namespace berth::plugins
