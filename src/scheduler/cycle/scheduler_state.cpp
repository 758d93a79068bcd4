#include "scheduler/cycle/scheduler_state.hpp"

#include <algorithm>
#include <vector>

#include "base/check.hpp"
#include "scheduler/cycle/scheduler.hpp"
#include "scheduler/load_metrics/signal_table.hpp"

namespace berth::cycle {

bool Scheduler::StateIsDerived() const {
  if (!parts_.extenders->empty() || parts_.handle.signals.size() > 0) return false;
  return std::ranges::all_of(parts_.profiles, [](const auto& profile) { return profile->StateIsDerived(); });
}

bool Scheduler::CanSave() const {
  const cluster::ClusterObjects& objects = parts_.handle.objects;
  return gate_.phase() == DecisionGate::Phase::kLeading && parts_.loop.synced() && !deciding_ &&
         bindings_.size() == 0 && evictions_.idle() && pods_to_move_.empty() &&
         deferred_activations_.empty() && parts_.cluster.assumed_count() == 0 && queue_.CanSave() &&
         queue_.sizes().total() <= kMaxSavedPods && !parts_.loop.HasWork() &&
         objects.Of<api::PersistentVolume>().assumed_count() == 0 &&
         objects.Of<api::PersistentVolumeClaim>().assumed_count() == 0 &&
         objects.Of<api::ResourceClaim>().assumed_count() == 0;
}

SchedulerState Scheduler::Save() {
  BERTH_CHECK(CanSave(), queue_.sizes().in_flight);
  RestartSampling();
  return {algorithm_.Restart(), next_release_, queue_.Save(parts_.handle.symbols)};
}

std::vector<api::NodePtr> Scheduler::NodesInOrder() {
  std::vector<api::NodePtr> nodes;
  for (const cluster::Row row : parts_.cluster.VisitingOrder())
    nodes.push_back(parts_.cluster.nodes().shared_node(row));
  return nodes;
}

Expected<void> Scheduler::Restore(const SchedulerState& state) {
  BERTH_RETURN_IF_ERROR(queue_.Restore(state.queue, parts_.handle.symbols));
  RestartSampling();
  algorithm_.Continue(state.algorithm);
  next_release_ = state.next_release;
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
