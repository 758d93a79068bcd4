#include "scheduler/plugins/eviction_budget/preemption_loops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace berth::plugins {
namespace {

// The clocks of the API server, the kubelet and this scheduler differ, and times are whole seconds.
constexpr std::int64_t kClockTolerance = 1;

const api::OwnerReference* ControllerOf(const api::Pod& pod) {
  const auto& controller = pod.metadata.controller;
  return controller && !controller->uid.empty() ? &*controller : nullptr;
}

std::string DescribeWorkload(const api::Pod& pod) {
  const api::OwnerReference* const controller = ControllerOf(pod);
  if (controller == nullptr) return "Pod " + pod.metadata.Key();
  return fmt::format("{} {}/{}", controller->kind, pod.metadata.ns.str(), controller->name);
}

// UIDs have no slash, so both kinds of keys differ.
void SetKey(const api::Pod& pod, std::string& key) {
  key.clear();
  if (const api::OwnerReference* const controller = ControllerOf(pod)) {
    key += controller->uid;
    return;
  }
  key += pod.metadata.ns.str();
  key += '/';
  key += pod.metadata.name;
}

// 0: unknown, because it was bound a moment ago.
std::int64_t StartOf(const api::Pod& pod) {
  return pod.status.start_time != 0 ? pod.status.start_time : pod.status.scheduled_time;
}

}  // namespace

PreemptionLoops::Evictor PreemptionLoops::EvictorOf(const api::Pod& preemptor) {
  Evictor evictor{
      .key = {}, .text = DescribeWorkload(preemptor), .scheduler = preemptor.spec.scheduler_name.str()};
  SetKey(preemptor, evictor.key);
  return evictor;
}

std::optional<PreemptionLoops::Loop> PreemptionLoops::Add(const api::Pod& victim, Evictor by, std::int64_t at,
                                                          const LoopLimit& limit, std::int64_t now) {
  at = std::min(at, now);
  if (at <= now - limit.window) return std::nullopt;
  const std::string key(KeyOf(victim));
  if (!workloads_.contains(key)) MakeRoom(limit, now);
  Workload& of = workloads_[key];
  // Also after the pause: updates of a terminating pod report its earlier eviction again.
  if (at < of.paused_until) return std::nullopt;
  std::erase_if(of.evictions, [&](const Eviction& eviction) { return eviction.at <= now - limit.window; });
  if (of.evictions.empty()) of.by.clear();
  const std::string& uid = victim.metadata.uid;
  if (std::ranges::find(of.evictions, uid, &Eviction::uid) != of.evictions.end()) return std::nullopt;
  if (!of.evictions.empty()) {
    const std::int64_t last = of.evictions.back().at, started = StartOf(victim);
    if (at <= last || (started != 0 && started + kClockTolerance < last)) return std::nullopt;
  }
  of.evictions.push_back({at, uid});
  if (of.by.size() < kMostEvictors && std::ranges::find(of.by, by) == of.by.end())
    of.by.push_back(std::move(by));
  if (of.evictions.size() < limit.evictions) return std::nullopt;
  of.evictions.clear();
  of.paused_until = now + limit.pause;
  last_pause_end_ = std::max(last_pause_end_, of.paused_until);
  return Loop{.workload = DescribeWorkload(victim), .by = of.by, .paused_until = of.paused_until};
}

// Every possible victim of a preemption comes here, usually while no workload is paused.
const PreemptionLoops::Workload* PreemptionLoops::FindPaused(const api::Pod& pod, std::int64_t now) {
  if (now >= last_pause_end_) return nullptr;
  const auto found = workloads_.find(KeyOf(pod));
  return found != workloads_.end() && now < found->second.paused_until ? &found->second : nullptr;
}

std::optional<std::int64_t> PreemptionLoops::PausedUntil(const api::Pod& pod, std::int64_t now) {
  const Workload* const paused = FindPaused(pod, now);
  return paused == nullptr ? std::nullopt : std::optional(paused->paused_until);
}

std::optional<std::int64_t> PreemptionLoops::PausedBetween(const api::Pod& preemptor, const api::Pod& victim,
                                                           std::int64_t now) {
  const Workload* const paused = FindPaused(preemptor, now);
  if (paused == nullptr) return std::nullopt;
  const std::string_view key = KeyOf(victim);
  const bool evicted_it = std::ranges::any_of(paused->by, [&](const Evictor& by) {
    return by.key.empty() ? by.scheduler == victim.spec.scheduler_name.str() : by.key == key;
  });
  return evicted_it ? std::optional(paused->paused_until) : std::nullopt;
}

std::size_t PreemptionLoops::Paused(std::int64_t now) const {
  if (now >= last_pause_end_) return 0;
  return static_cast<std::size_t>(
      std::ranges::count_if(workloads_, [&](const auto& entry) { return now < entry.second.paused_until; }));
}

void PreemptionLoops::MakeRoom(const LoopLimit& limit, std::int64_t now) {
  if (workloads_.size() < kMostWorkloads) return;
  const auto last_of = [](const Workload& of) {
    return of.evictions.empty() ? INT64_MIN : of.evictions.back().at;
  };
  erase_if(workloads_, [&](const auto& entry) {
    return now >= entry.second.paused_until && last_of(entry.second) <= now - limit.window;
  });
  if (workloads_.size() < kMostWorkloads) return;
  // By key, too, because the order of iteration differs between processes.
  const auto first = std::ranges::min_element(workloads_, {}, [&](const auto& entry) {
    return std::tuple(entry.second.paused_until > now ? entry.second.paused_until : INT64_MIN,
                      last_of(entry.second), std::string_view(entry.first));
  });
  workloads_.erase(first);
}

// --- recordings ---

PreemptionLoops::Saved PreemptionLoops::Save() const {
  const auto saved_end = [](std::int64_t end) {
    return end == INT64_MIN ? std::nullopt : std::optional(end);
  };
  Saved saved{.workloads = {}, .last_pause_end = saved_end(last_pause_end_)};
  for (const auto& [key, of] : workloads_) {
    Saved::OfWorkload& to = saved.workloads.emplace_back(Saved::OfWorkload{
        .key = key, .evictions = {}, .by = of.by, .paused_until = saved_end(of.paused_until)});
    for (const Eviction& eviction : of.evictions) to.evictions.emplace_back(eviction.at, eviction.uid);
  }
  std::ranges::sort(saved.workloads, {}, &Saved::OfWorkload::key);
  return saved;
}

Expected<void> PreemptionLoops::Restore(const Saved& saved) {
  if (saved.workloads.size() > kMostWorkloads)
    return Invalid(fmt::format("workloads: expected at most {}", kMostWorkloads));
  workloads_.clear();
  for (const Saved::OfWorkload& from : saved.workloads) {
    if (from.by.size() > kMostEvictors)
      return Invalid(fmt::format("workload {}: expected at most {} evictors", from.key, kMostEvictors));
    Workload& of = workloads_[from.key];
    for (const auto& [at, uid] : from.evictions) of.evictions.push_back({at, uid});
    of.by = from.by;
    of.paused_until = from.paused_until.value_or(INT64_MIN);
  }
  last_pause_end_ = saved.last_pause_end.value_or(INT64_MIN);
  return {};
}

std::string_view PreemptionLoops::KeyOf(const api::Pod& pod) {
  SetKey(pod, key_);
  return key_;
}

}  // namespace berth::plugins
