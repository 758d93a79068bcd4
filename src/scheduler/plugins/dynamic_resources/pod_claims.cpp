#include "scheduler/plugins/dynamic_resources/pod_claims.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/go_quote.hpp"
#include "kubernetes/api/timestamp.hpp"

namespace berth::plugins {
namespace {

using api::ResourceClaim;

const ResourceClaim::DeviceStatus* StatusOf(const ResourceClaim& claim,
                                            const ResourceClaim::AllocatedDevice& device) {
  const auto found =
      std::ranges::find_if(claim.device_statuses, [&](const ResourceClaim::DeviceStatus& status) {
        return status.device == device.device && status.driver == device.driver && status.pool == device.pool;
      });
  return found == claim.device_statuses.end() ? nullptr : &*found;
}

const ResourceClaim::DeviceStatus::Condition* FindTrue(const ResourceClaim::DeviceStatus& status,
                                                       const std::string& type) {
  const auto found =
      std::ranges::find(status.conditions, type, &ResourceClaim::DeviceStatus::Condition::type);
  return found == status.conditions.end() || found->status != "True" ? nullptr : &*found;
}

}  // namespace

bool IsReservedFor(const ResourceClaim& claim, const api::Pod& pod) {
  return std::ranges::find(claim.reserved_for, pod.metadata.uid, &ResourceClaim::Consumer::uid) !=
         claim.reserved_for.end();
}

bool IsReservedFor(const ResourceClaim& claim, const api::Pod& pod, std::string_view group) {
  if (IsReservedFor(claim, pod)) return true;
  return !group.empty() && std::ranges::any_of(claim.reserved_for, [&](const auto& consumer) {
    return consumer.api_group == kGroupsApi && consumer.resource == kGroupsResource && consumer.name == group;
  });
}

bool HasBindingConditions(const ResourceClaim& claim) {
  return claim.allocation && std::ranges::any_of(claim.allocation->devices, [](const auto& device) {
           return !device.binding_conditions.empty();
         });
}

BindingConditions ConditionsOf(const ResourceClaim& claim) {
  using State = BindingConditions::State;
  if (!claim.allocation) return {State::kPending};
  for (const ResourceClaim::AllocatedDevice& device : claim.allocation->devices) {
    if (device.binding_conditions.empty()) continue;
    const ResourceClaim::DeviceStatus* status = StatusOf(claim, device);
    if (status == nullptr) return {State::kPending};
    for (const std::string& type : device.binding_failure_conditions) {
      if (const auto* failed = FindTrue(*status, type)) {
        return {State::kFailed, fmt::format("device binding failed: claim={}, reason={}, message={}",
                                            claim.metadata.name, failed->reason, GoQuote(failed->message))};
      }
    }
    for (const std::string& type : device.binding_conditions) {
      if (FindTrue(*status, type) == nullptr) return {State::kPending};
    }
  }
  return {State::kReady};
}

bool HasLapsed(const ResourceClaim& claim, WallTime limit) {
  if (!HasBindingConditions(claim)) return false;
  const auto began = api::ParseTimestamp(claim.allocation->timestamp);
  return began && WallTime(std::chrono::seconds(*began)) < limit;
}

}  // namespace berth::plugins
