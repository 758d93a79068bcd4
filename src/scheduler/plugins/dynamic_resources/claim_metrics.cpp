#include "scheduler/plugins/dynamic_resources/claim_metrics.hpp"

#include <array>

#include "observability/metrics/registry.hpp"

namespace berth::plugins {
namespace {

std::string StatusOf(WaitOutcome outcome) {
  static constexpr std::array<std::string_view, 4> kNames{"success", "failure", "timeout", "error"};
  return std::string(kNames[static_cast<std::size_t>(outcome)]);
}

}  // namespace

void CountClaimCreation(const framework::Handle& handle, bool success) {
  if (handle.metrics == nullptr) return;
  handle.metrics
      ->Counter("dynamic_resource_allocation_resourceclaim_creates_total",
                "[ALPHA] Number of ResourceClaims creation requests, categorized by creation status, admin "
                "access, and owning API group and kind (either Pod or scheduling.k8s.io/PodGroup)",
                {{"status", success ? "success" : "failure"},
                 {"admin_access", "false"},
                 {"owner_api_group", ""},
                 {"owner_api_kind", "Pod"}})
      .Add();
}

void ObserveWait(const framework::Handle& handle, const std::string& profile, const DevicesOfPod& pod,
                 WaitOutcome outcome, Duration waited) {
  if (handle.metrics == nullptr) return;
  for (const DeviceClaim& claim : pod.claims) {
    if (!claim.allocated()) continue;
    for (const api::ResourceClaim::AllocatedDevice& device : claim.object->allocation->devices) {
      const metrics::Labels labels{
          {"profile", profile}, {"driver", device.driver}, {"status", StatusOf(outcome)}};
      handle.metrics
          ->Histogram(
              "scheduler_dra_bindingconditions_wait_duration_seconds",
              "[ALPHA] Time in seconds spent waiting for BindingConditions to be satisfied during PreBind.",
              metrics::ExponentialBuckets(0.1, 2, 14), labels)
          .Observe(std::chrono::duration<double>(waited).count());
      if (device.binding_conditions.empty()) continue;
      handle.metrics
          ->Counter("scheduler_dra_bindingconditions_allocations_total",
                    "[ALPHA] Number of allocations using devices with BindingConditions, counted per driver "
                    "per scheduling attempt",
                    labels)
          .Add();
    }
  }
}

}  // namespace berth::plugins
