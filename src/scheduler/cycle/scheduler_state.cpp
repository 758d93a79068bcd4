#include "scheduler/cycle/scheduler_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "scheduler/cycle/scheduler.hpp"
#include "scheduler/load_metrics/signal_table.hpp"

namespace berth::cycle {

bool Scheduler::IsSavable() const {
  return std::ranges::all_of(parts_.profiles, [](const auto& profile) { return profile->IsSavable(); });
}

bool Scheduler::CanSave() const {
  const cluster::ClusterObjects& objects = parts_.handle.objects;
  return gate_.phase() == DecisionGate::Phase::kLeading && parts_.loop.synced() && !deciding_ &&
         bindings_.size() == 0 && evictions_.idle() && pods_to_move_.empty() &&
         deferred_activations_.empty() && parts_.cluster.assumed_count() == 0 && queue_.CanSave() &&
         queue_.sizes().total() <= kMaxSavedPods && !parts_.loop.HasPostedWork() &&
         parts_.loop.timers().size() == SavedTimers() && !measurement_wait_.active() &&
         objects.Of<api::PersistentVolume>().assumed_count() == 0 &&
         objects.Of<api::PersistentVolumeClaim>().assumed_count() == 0 &&
         objects.Of<api::ResourceClaim>().assumed_count() == 0;
}

std::size_t Scheduler::SavedTimers() const {
  std::size_t timers = 0;
  for (const auto& profile : parts_.profiles) timers += profile->SavedTimers();
  return timers;
}

Expected<SchedulerCopy> Scheduler::Save() {
  BERTH_CHECK(CanSave(), queue_.sizes().in_flight);
  SchedulerCopy copy;
  for (const auto& profile : parts_.profiles) BERTH_RETURN_IF_ERROR(profile->SaveTo(copy.plugins));
  SchedulerState& state = copy.state;
  RestartSampling();
  state.algorithm = algorithm_.Restart();
  state.next_release = next_release_;
  state.queue = queue_.Save(parts_.handle.symbols);
  state.measurements = parts_.handle.signals.Save();
  state.circuits = parts_.extenders->SaveCircuits();
  return copy;
}

Expected<SchedulerState> Encode(SchedulerCopy copy) {
  BERTH_TRY(copy.state.plugins, framework::Encode(std::move(copy.plugins)));
  return std::move(copy.state);
}

std::vector<api::NodePtr> Scheduler::NodesInOrder() {
  std::vector<api::NodePtr> nodes;
  for (const cluster::Row row : parts_.cluster.VisitingOrder())
    nodes.push_back(parts_.cluster.nodes().shared_node(row));
  return nodes;
}

// Plugins read measurements while they restore their states, and tenants refer to waiting pods.
Expected<void> Scheduler::Restore(const SchedulerState& state) {
  BERTH_RETURN_IF_ERROR(parts_.handle.signals.Restore(state.measurements));
  BERTH_RETURN_IF_ERROR(parts_.extenders->RestoreCircuits(state.circuits));
  BERTH_RETURN_IF_ERROR(queue_.Restore(state.queue, parts_.handle.symbols));
  std::span<const framework::SavedState> plugins = state.plugins;
  for (const auto& profile : parts_.profiles) BERTH_RETURN_IF_ERROR(profile->RestoreFrom(plugins));
  if (!plugins.empty())
    return Invalid(fmt::format("{}: no plugin of the configuration has this state", plugins.front().plugin));
  RestartSampling();
  algorithm_.Continue(state.algorithm);
  next_release_ = state.next_release;
  measurement_wait_.End();
  gate_.Lead();
  return {};
}

// The timed attempts read the clock more often, so a restored scheduler must time the same ones.
void Scheduler::RestartSampling() {
  for (const auto& profile : parts_.profiles) {
    runtime::MetricsRecorder* const metrics = profile->metrics_recorder();
    if (metrics == nullptr) continue;
    metrics->RestartSampling();
    metrics->BeginAttempt();  // hints between two attempts are timed as the last attempt was
  }
}

}  // namespace berth::cycle
