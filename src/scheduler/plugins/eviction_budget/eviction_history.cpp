#include "scheduler/plugins/eviction_budget/eviction_history.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace berth::plugins {
namespace {

constexpr std::int64_t kMostSeconds = std::int64_t{1} << 53;

std::int64_t TimeOfSaved(const std::pair<std::int64_t, std::string>& eviction) { return eviction.first; }

}  // namespace

void EvictionHistory::Add(const std::string& ns, const std::string& uid, std::int64_t at, EvictionLimit limit,
                          std::int64_t now) {
  at = std::min(at, now);
  if (limit.evictions == 0 || at <= now - limit.period) return;
  ForgetOld(now);
  Namespace& of = by_namespace_[ns];
  Expire(of, limit.period, now);
  if (std::ranges::find(of.evictions, uid, &Eviction::uid) != of.evictions.end()) return;
  const auto place = std::ranges::upper_bound(of.evictions, at, {}, &Eviction::at);
  of.evictions.insert(place, {at, uid});
  if (of.evictions.size() <= limit.evictions) return;
  of.evictions.erase(of.evictions.begin(), of.evictions.end() - static_cast<std::ptrdiff_t>(limit.evictions));
}

std::size_t EvictionHistory::Count(std::string_view ns, EvictionLimit limit, std::int64_t now) {
  const auto found = by_namespace_.find(ns);
  if (found == by_namespace_.end()) return 0;
  Expire(found->second, limit.period, now);
  return found->second.evictions.size();
}

std::int64_t EvictionHistory::AllowedAt(std::string_view ns, std::size_t more, EvictionLimit limit,
                                        std::int64_t now) {
  const std::size_t used = Count(ns, limit, now);
  if (used + more <= limit.evictions) return now;
  // So many of the earliest ones must have left the period.
  const std::size_t leaving = used + more - limit.evictions;
  return by_namespace_.find(ns)->second.evictions[leaving - 1].at + limit.period;
}

// Preemption calls this for every possible victim. The clock may have been set back.
void EvictionHistory::Expire(Namespace& of, std::int64_t period, std::int64_t now) {
  if (of.expired == now && of.period == period) return;
  of.expired = now;
  of.period = period;
  for (Eviction& eviction : of.evictions) eviction.at = std::min(eviction.at, now);
  std::erase_if(of.evictions, [&](const Eviction& eviction) { return eviction.at <= now - of.period; });
}

// Each call adds at most one namespace, so the cost per call is constant on average.
void EvictionHistory::ForgetOld(std::int64_t now) {
  if (by_namespace_.size() < forget_at_) return;
  erase_if(by_namespace_, [&](auto& entry) {
    Expire(entry.second, entry.second.period, now);
    return entry.second.evictions.empty();
  });
  forget_at_ = std::max<std::size_t>(64, 2 * by_namespace_.size());
}

// --- recordings ---

EvictionHistory::Saved EvictionHistory::Save() const {
  Saved saved{.namespaces = {}, .forget_at = forget_at_};
  for (const auto& [ns, of] : by_namespace_) {
    Saved::OfNamespace& to = saved.namespaces.emplace_back(Saved::OfNamespace{ns, of.period, {}});
    for (const Eviction& eviction : of.evictions) to.evictions.emplace_back(eviction.at, eviction.uid);
  }
  std::ranges::sort(saved.namespaces, {}, &Saved::OfNamespace::ns);
  return saved;
}

// Sums of times and periods must not overflow.
Expected<void> EvictionHistory::Restore(const Saved& saved) {
  by_namespace_.clear();
  for (const Saved::OfNamespace& from : saved.namespaces) {
    Namespace& of = by_namespace_[from.ns];
    if (from.period < 0 || from.period > kMostSeconds ||
        !std::ranges::is_sorted(from.evictions, {}, TimeOfSaved))
      return Invalid(fmt::format("namespace {}: expected a period, and evictions by their time", from.ns));
    of.period = from.period;
    for (const auto& [at, uid] : from.evictions) {
      if (at < -kMostSeconds || at > kMostSeconds)
        return Invalid(fmt::format("namespace {}: expected times in Unix seconds", from.ns));
      of.evictions.push_back({at, uid});
    }
  }
  forget_at_ = saved.forget_at;
  return {};
}

}  // namespace berth::plugins
