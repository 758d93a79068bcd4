// Stand-by, leading, and shutdown.
#include <fmt/format.h>

#include "observability/log/log.hpp"
#include "scheduler/cycle/scheduler.hpp"
#include "scheduler/cycle/scheduler_metrics.hpp"

namespace berth::cycle {
namespace {

// A closed fence opens again when the lease is renewed; there is no notification, so the loop polls.
constexpr Duration kFencePollInterval = std::chrono::milliseconds(20);

}  // namespace

void Scheduler::Lead() {
  Post([this] { leading_ = true; });
}

bool Scheduler::MayDecide() {
  next_fence_check_ = MonoTime::max();
  if (!leading_ || draining_) return false;
  if (parts_.fence == nullptr || parts_.fence->Open()) return true;
  next_fence_check_ = parts_.clock.Now() + kFencePollInterval;
  return false;
}

void Scheduler::Drain(Duration patience) {
  cancelling_.store(true, std::memory_order_relaxed);
  Post([this, patience] { BeginDrain(patience); });
}

// Successful steps of binding cycles do not change anything that a decision reads; all other messages wait
// until the decision is complete.
bool Scheduler::PumpBindings() {
  for (Work& step : mailbox_->TakeGoodSteps()) step();
  return !stopping_.load(std::memory_order_relaxed) && !cancelling_.load(std::memory_order_relaxed) &&
         (parts_.fence == nullptr || parts_.fence->Open());
}

std::function<std::optional<std::string>()> Scheduler::WriteGuard() const {
  return [fence = parts_.fence]() -> std::optional<std::string> {
    if (fence == nullptr || fence->Open()) return std::nullopt;
    return "this scheduler does not hold the leader election lease";
  };
}

void Scheduler::BeginDrain(Duration patience) {
  if (draining_) return;
  draining_ = true;
  drain_by_ = parts_.clock.Now() + patience;
  // Scheduling has stopped, so no other pod can allow the waiting ones.
  bindings_.ForEachWaiting([](framework::WaitingPod& pod) { pod.Reject("", "the scheduler is stopping"); });
}

void Scheduler::ContinueDrain() {
  if (bindings_.size() > 0 && parts_.clock.Now() >= drain_by_) {
    unconfirmed_bindings_ = bindings_.Abandon("the scheduler is stopping");
  }
  if (bindings_.size() > 0) return;
  drain_by_ = MonoTime::max();
  stopping_.store(true, std::memory_order_relaxed);
}

void Scheduler::UpdateGauges() {
  metrics_->cached_nodes.Set(static_cast<std::int64_t>(parts_.cache.nodes().node_count()));
  metrics_->cached_pods.Set(static_cast<std::int64_t>(parts_.cache.pod_count()));
  metrics_->assumed_pods.Set(static_cast<std::int64_t>(parts_.cache.assumed_count()));
  metrics_->binding.Set(static_cast<std::int64_t>(bindings_.size()));
}

// The previous leader may have sent a binding that takes effect only after this replica gave the node's
// resources to other pods. This cannot be prevented (see LeaseFence) but is reported. A replica in stand-by
// does not report it, because it does not follow the leader's decisions.
void Scheduler::ReportOvercommitment(const api::Pod& pod) {
  if (!leading_ || !synced()) return;
  const cluster::NodeTable& nodes = parts_.cache.nodes();
  const cluster::Row row = nodes.Find(parts_.handle.symbols.node_names.Find(pod.spec.node_name));
  if (row == cluster::kNoRow) return;
  std::string exceeded;
  const auto check = [&](std::string_view what, std::int64_t held, std::int64_t offered) {
    if (held <= offered) return;
    exceeded += fmt::format("{}{} {} of {}", exceeded.empty() ? "" : ", ", what, held, offered);
  };
  check("pods", nodes.pod_count()[row], nodes.allowed_pods()[row]);
  const auto check_resource = [&](cluster::ResourceId id, std::int64_t requests, std::string_view what) {
    if (requests <= 0) return;
    check(what, nodes.requested(id)[row], nodes.allocatable(id)[row]);
  };
  const cluster::Amounts requests = cluster::UseOf(pod, parts_.handle.symbols)->requested;
  check_resource(cluster::kCpu, requests.milli_cpu, "milli-cpu");
  check_resource(cluster::kMemory, requests.memory, "memory");
  check_resource(cluster::kEphemeralStorage, requests.ephemeral_storage, "ephemeral-storage");
  for (const auto& [id, amount] : requests.scalars)
    check_resource(id, amount, parts_.handle.symbols.ResourceName(id));
  if (exceeded.empty()) return;
  metrics_->overcommitted.Add();
  log::Warning("Node overcommitted by a pod bound by another scheduler",
               {{"pod", pod.metadata.Key()}, {"node", pod.spec.node_name.str()}, {"exceeded", exceeded}});
  parts_.events.Emit({ports::Event::Type::kWarning, "OvercommittedNode", "Scheduling",
                      fmt::format("Node {} is overcommitted since this pod was bound to it: {}",
                                  pod.spec.node_name, exceeded),
                      std::string(parts_.profiles.front()->name()), parts_.cache.FindPod(pod.metadata.uid)});
}

}  // namespace berth::cycle
