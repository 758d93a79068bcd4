#include "scheduler/plugins/eviction_budget/paused_gauge.hpp"

namespace berth::plugins {
namespace {

constexpr const char* kPaused = "berth_preemption_loop_paused_workloads";

}  // namespace

PausedGauge::~PausedGauge() {
  if (registry_ != nullptr) registry_->RemoveCallback(kPaused, labels_);
}

void PausedGauge::Export(metrics::Registry& registry, const std::string& profile) {
  if (registry_ != nullptr) return;
  registry_ = &registry;
  labels_ = {{"profile", profile}};
  registry.CallbackGauge(
      kPaused, "[ALPHA] Workloads that EvictionBudget pauses now, by profile.", labels_,
      [workloads = workloads_] { return static_cast<double>(workloads->load(std::memory_order_relaxed)); });
}

}  // namespace berth::plugins
