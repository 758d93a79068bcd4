#include "scheduler/plugins/fair_order/tenant_series.hpp"

namespace berth::plugins {
namespace {

constexpr const char* kShare = "berth_tenant_share";
constexpr const char* kWaiting = "berth_tenant_waiting_entries";
constexpr const char* kWeight = "berth_tenant_weight";

}  // namespace

TenantSeries::TenantSeries(metrics::Registry& registry, const std::string& tenant, double weight)
    : registry_(registry), labels_{{"tenant", tenant}} {
  registry.CallbackGauge(
      kShare,
      "[ALPHA] Largest part of the cluster that the tenant's pods request of any resource; 1: all of it.",
      {{"tenant", tenant}}, [values = values_] { return values->share.load(std::memory_order_relaxed); });
  registry.CallbackGauge(kWaiting, "[ALPHA] Number of the tenant's entries (pods and pod groups) in activeQ.",
                         {{"tenant", tenant}}, [values = values_] {
                           return static_cast<double>(values->waiting.load(std::memory_order_relaxed));
                         });
  registry.CallbackGauge(kWeight, "[ALPHA] Weight of the tenant in the arguments of FairOrder.",
                         {{"tenant", tenant}}, [weight] { return weight; });
}

TenantSeries::~TenantSeries() {
  for (const char* name : {kShare, kWaiting, kWeight}) registry_.RemoveCallback(name, labels_);
}

}  // namespace berth::plugins
