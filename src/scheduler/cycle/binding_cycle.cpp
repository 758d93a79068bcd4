#include "scheduler/cycle/binding_cycle.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/go_duration.hpp"
#include "observability/log/log.hpp"
#include "scheduler/extenders/requests.hpp"

namespace berth::cycle {

using framework::Code;
using framework::Status;

// The cycle of one pod. Results carry the number of the step they belong to; late and duplicate results refer
// to another step and are ignored.
struct BindingCycles::Cycle final : framework::WaitingPod, std::enable_shared_from_this<Cycle> {
  // Only advances.
  enum class Stage : std::uint8_t { kReserve, kWaiting, kPermitted, kPreBind, kBind, kEnded };
  struct Wait {
    std::string_view plugin;
    Duration timeout;
    MonoTime due;
  };

  Cycle(BindingCycles& cycles, framework::QueuedPodPtr pod, std::shared_ptr<const Configuration> used,
        std::string node_name, framework::CycleState state)
      : cycles(cycles),
        queued(std::move(pod)),
        configuration(std::move(used)),
        node_name(std::move(node_name)),
        state(std::move(state)) {}

  const cluster::PodInfo& pod() const override { return queued->info; }
  const std::string& node() const override { return node_name; }
  std::vector<std::string> PendingPlugins() const override {
    std::vector<std::string> names;
    for (const Wait& wait : waits) names.emplace_back(wait.plugin);
    return names;
  }
  void Allow(std::string_view plugin) override {
    if (verdict || stage != Stage::kWaiting) return;
    std::erase_if(waits, [&](const Wait& wait) { return wait.plugin == plugin; });
    waits.empty() ? Signal(Status{}) : cycles.SetPermitDeadline(shared_from_this());
  }
  bool Reject(std::string_view plugin, std::string message) override {
    return Stop(Status::Unschedulable(std::move(message)), plugin);
  }
  bool Preempt(std::string_view plugin, std::string message) override {
    return Stop(Status::Error(fmt::format("waiting on permit for pod: {}", message)), plugin);
  }

  bool Stop(Status status, std::string_view plugin) {
    if (verdict || stage != Stage::kWaiting) return false;
    stopped_by = plugin;  // a copy, because the caller's string may not live until the verdict is handled
    status.plugin = stopped_by;
    Signal(std::move(status));
    return true;
  }
  // The first signal counts. It is handled in a later step, because the caller may be in the middle of
  // another operation.
  void Signal(Status status) {
    if (verdict) return;
    verdict = std::move(status);
    cycles.parts_.post(false, [self = shared_from_this()] { self->cycles.OnPermitVerdict(self); });
  }
  void Advance(Stage next) {
    BERTH_CHECK(stage < next, queued->info.key, stage, next);
    stage = next;
  }
  const std::string& uid() const { return queued->info.pod->metadata.uid; }

  BindingCycles& cycles;
  const framework::QueuedPodPtr queued;
  const std::shared_ptr<const Configuration> configuration;
  const runtime::Profile& profile = *configuration->profile;
  const std::string node_name;
  framework::CycleState state;
  const framework::Placement placement{queued->info, node_name, state};

  Stage stage = Stage::kReserve;
  std::string stopped_by;
  std::uint64_t step = 0;
  std::vector<Wait> waits;
  MonoTime waiting_since;
  MonoTime point_started;         // of PreBind or Bind
  std::optional<Status> verdict;  // the result of the wait in Permit
  runtime::PreFlightOutcome pre_flight;
  std::size_t group = 0;  // the current group of pre_flight
  Duration longest_pre_bind{};
  std::size_t pending = 0;   // calls of PreBind or Bind plugins that have not completed
  Status group_status;       // the first failure of the group
  bool by_extender = false;  // an extender binds the pod instead of a plugin
  std::stop_source stop;
  std::optional<std::string> cancelled;  // reason of the cancellation of PreBind
  std::optional<TimerQueue::Id> deadline;
};

BindingCycles::~BindingCycles() {
  RequestStops();
  for (const auto& used : configurations_) {
    if (const auto configuration = used.lock()) *configuration = {};
  }
}

void BindingCycles::RequestStops() {
  for (auto& [uid, cycle] : cycles_) cycle->stop.request_stop();
}

void BindingCycles::Start(const framework::QueuedPodPtr& pod, runtime::ProfileList::Pointer profile,
                          std::string node, framework::CycleState state) {
  const auto cycle = std::make_shared<Cycle>(*this, pod, ConfigurationOf(std::move(profile)), std::move(node),
                                             std::move(state));
  cycles_.insert_or_assign(cycle->uid(), cycle);
  if (!ReserveAndPermit(cycle)) return;
  if (const auto pods = std::exchange(cycle->state.pods_to_activate, {}); !pods.empty())
    parts_.observer.OnActivated(pods);

  cycle->pre_flight = cycle->profile.RunPreBindPreFlight(cycle->placement);
  const Status& pre_flight = cycle->pre_flight.status;
  if (!pre_flight.ok() && !pre_flight.skip()) return Fail(cycle, pre_flight, true);
  const bool waits = cycle->stage == Cycle::Stage::kWaiting;
  if (pre_flight.ok() || waits) parts_.observer.OnNominated(pod, cycle->node());
  if (!waits) AfterPermit(cycle);
}

std::shared_ptr<BindingCycles::Configuration> BindingCycles::ConfigurationOf(
    runtime::ProfileList::Pointer profile) {
  for (const auto& used : configurations_) {
    auto configuration = used.lock();
    if (configuration && configuration->profile == profile && configuration->extenders == parts_.extenders)
      return configuration;
  }
  std::erase_if(configurations_, [](const auto& used) { return used.expired(); });
  auto configuration = std::make_shared<Configuration>(std::move(profile), parts_.extenders);
  configurations_.push_back(configuration);
  return configuration;
}

// Returns false if the cycle has ended. Both belong to the scheduling attempt: no other pod has been
// scheduled since.
bool BindingCycles::ReserveAndPermit(const CyclePtr& cycle) {
  if (Status status = cycle->profile.RunReserve(cycle->placement); !status.ok()) {
    Fail(cycle, std::move(status), false);
    return false;
  }
  runtime::PermitOutcome permit = cycle->profile.RunPermit(cycle->placement);
  if (permit.status.code == Code::kWait) {
    cycle->Advance(Cycle::Stage::kWaiting);
    cycle->waiting_since = parts_.clock.Now();
    for (const auto& [plugin, timeout] : permit.waits)
      cycle->waits.push_back({plugin, timeout, cycle->waiting_since + timeout});
    SetPermitDeadline(cycle);
    return true;
  }
  if (permit.status.ok()) return true;
  Fail(cycle, std::move(permit.status), false);
  return false;
}

void BindingCycles::OnPermitVerdict(const CyclePtr& cycle) {
  if (cycle->stage != Cycle::Stage::kWaiting) return;
  DropDeadline(cycle);
  cycle->Advance(Cycle::Stage::kPermitted);
  if (runtime::MetricsRecorder* metrics_recorder = cycle->profile.metrics_recorder()) {
    const runtime::MetricsRecorder::Traced traced(metrics_recorder, cycle->queued->trace);
    metrics_recorder->PermitWaited(cycle->verdict->code, cycle->waiting_since);
  }
  if (!cycle->verdict->ok()) return Fail(cycle, *cycle->verdict, true);
  AfterPermit(cycle);
}

void BindingCycles::AfterPermit(const CyclePtr& cycle) {
  parts_.observer.OnPermitDone(cycle->queued);
  cycle->Advance(Cycle::Stage::kPreBind);
  cycle->point_started = parts_.clock.Now();
  StartPreBindGroup(cycle);
}

void BindingCycles::StartPreBindGroup(const CyclePtr& cycle) {
  if (cycle->group == cycle->pre_flight.groups.size()) {
    DropDeadline(cycle);
    return StartBindPoint(cycle);
  }
  const auto& plugins = cycle->pre_flight.groups[cycle->group];
  const std::uint64_t step = ++cycle->step;
  cycle->pending = plugins.size();
  cycle->group_status = {};
  cycle->longest_pre_bind = Duration::zero();
  for (const framework::PreBindPlugin* plugin : plugins)
    cycle->longest_pre_bind = std::max(cycle->longest_pre_bind, plugin->LongestPreBind());
  SetDeadline(cycle, cycle->longest_pre_bind);
  for (framework::PreBindPlugin* plugin : plugins) {
    cycle->profile.StartPreBind(*plugin, cycle->placement, cycle->stop.get_token(),
                                [this, post = parts_.post, cycle, step](Status status) {
                                  const bool succeeded = status.ok();
                                  post(succeeded, [this, cycle, step, status = std::move(status)]() mutable {
                                    OnPreBindDone(cycle, step, std::move(status));
                                  });
                                });
  }
}

// Returns whether the result counts; after the end of the cycle none does.
bool BindingCycles::CountCompletion(const CyclePtr& cycle, std::uint64_t step) {
  BERTH_CHECK(cycle->pending > 0, cycle->uid(), step);
  --cycle->pending;
  if (cycle->stage == Cycle::Stage::kEnded) DropState(*cycle);
  return cycle->stage != Cycle::Stage::kEnded && cycle->step == step;
}

void BindingCycles::OnPreBindDone(const CyclePtr& cycle, std::uint64_t step, Status status) {
  if (!CountCompletion(cycle, step)) return;
  const bool succeeded = status.ok();
  if (!status.ok() && cycle->group_status.ok()) {
    cycle->group_status = std::move(status);
    cycle->stop.request_stop();  // the group has failed, so the other plugins can stop
  }
  if (cycle->pending > 0) return;
  if (cycle->group_status.ok() && cycle->cancelled) cycle->group_status = Status::Error(*cycle->cancelled);
  if (!cycle->group_status.ok()) {
    // A step that was posted as succeeded may run within a decision, which a failure must not disturb.
    if (!succeeded) return Fail(cycle, cycle->group_status, true);
    return parts_.post(false, [this, cycle, step] {
      if (cycle->stage == Cycle::Stage::kPreBind && cycle->step == step)
        Fail(cycle, cycle->group_status, true);
    });
  }
  ++cycle->group;
  StartPreBindGroup(cycle);
}

// The first extender that binds and manages the pod replaces the Bind plugins.
void BindingCycles::StartBindPoint(const CyclePtr& cycle) {
  OnPointEnd(cycle, Code::kSuccess);
  cycle->Advance(Cycle::Stage::kBind);
  StartExtenderBind(cycle, cycle->configuration->extenders->FindBinder(*cycle->pod().pod));
}

void BindingCycles::StartExtenderBind(const CyclePtr& cycle, std::size_t index) {
  cycle->by_extender = index < cycle->configuration->extenders->size();
  if (!cycle->by_extender) {
    cycle->point_started = parts_.clock.Now();
    return StartBind(cycle, 0);
  }
  const std::uint64_t step = ++cycle->step;
  DropDeadline(cycle);  // extenders have a time-out of their own
  extenders::Extender& extender = cycle->configuration->extenders->at(index);
  // Assigned before the loop can see the reply, because the reply arrives as a message.
  const auto pending = std::make_shared<extenders::Extender::PendingCall>();
  *pending = extender.Send(
      extender.config().bind_verb, extenders::BindRequest(*cycle->pod().pod, cycle->node()),
      [this, post = parts_.post, cycle, step, index, pending](Expected<extenders::Reply> reply) {
        post(false, [this, cycle, step, index, pending, reply = std::move(reply)]() mutable {
          OnExtenderReply(cycle, step, index, *pending, std::move(reply));
        });
      },
      parts_.gate.WriteGuard());
}

void BindingCycles::OnExtenderReply(const CyclePtr& cycle, std::uint64_t step, std::size_t index,
                                    const extenders::Extender::PendingCall& pending,
                                    Expected<extenders::Reply> reply) {
  extenders::Extender& extender = cycle->configuration->extenders->at(index);
  const Expected<void> bound = cycle->configuration->extenders->Bound(extender, pending, std::move(reply));
  if (cycle->stage != Cycle::Stage::kBind || cycle->step != step) return;
  if (bound) return OnBound(cycle);
  if (!extender.ignorable()) return Fail(cycle, Status::Error(bound.error().message), true);
  log::Info("Skipping extender in bind as it returned error and has ignorable flag set",
            {{"extender", extender.name()}, {"err", bound.error().message}});
  StartExtenderBind(cycle, cycle->configuration->extenders->FindBinder(*cycle->pod().pod, index + 1));
}

void BindingCycles::StartBind(const CyclePtr& cycle, std::size_t plugin) {
  const std::uint64_t step = ++cycle->step;
  cycle->pending = 1;
  SetDeadline(cycle, options_.bind_deadline);
  // Read here, because the profile may be gone when a plugin answers.
  const bool has_next = plugin + 1 < cycle->profile.bind_count();
  cycle->profile.StartBind(
      plugin, cycle->placement, [this, post = parts_.post, cycle, step, plugin, has_next](Status status) {
        const bool succeeded = status.ok() || (status.skip() && has_next);
        post(succeeded, [this, cycle, step, plugin, status = std::move(status)]() mutable {
          OnBindDone(cycle, step, plugin, std::move(status));
        });
      });
}

void BindingCycles::OnBindDone(const CyclePtr& cycle, std::uint64_t step, std::size_t plugin, Status status) {
  if (!CountCompletion(cycle, step)) return;
  DropDeadline(cycle);
  if (status.skip() && plugin + 1 < cycle->profile.bind_count()) return StartBind(cycle, plugin + 1);
  if (!status.ok()) return Fail(cycle, std::move(status), true);
  OnBound(cycle);
}

void BindingCycles::OnBound(const CyclePtr& cycle) {
  OnPointEnd(cycle, Code::kSuccess);
  End(cycle);
  parts_.observer.OnBound(cycle->queued, cycle->node());
  {
    const runtime::MetricsRecorder::Traced traced(cycle->profile.metrics_recorder(), cycle->queued->trace);
    cycle->profile.RunPostBind(cycle->placement);
  }
  parts_.observer.OnCompleted(cycle->queued, cycle->node());
  if (const auto& pods = cycle->state.pods_to_activate; !pods.empty()) parts_.observer.OnActivated(pods);
  DropState(*cycle);
}

// Records the duration of PreBind or Bind, whose plugins complete asynchronously.
void BindingCycles::OnPointEnd(const CyclePtr& cycle, Code code) {
  runtime::MetricsRecorder* metrics_recorder = cycle->profile.metrics_recorder();
  if (metrics_recorder == nullptr || cycle->by_extender) return;
  const auto point = cycle->stage == Cycle::Stage::kBind ? runtime::ExtensionPoint::kBind
                                                         : runtime::ExtensionPoint::kPreBind;
  const runtime::MetricsRecorder::Traced traced(metrics_recorder, cycle->queued->trace);
  metrics_recorder->PointTook(point, code, cycle->point_started);
  cycle->point_started = parts_.clock.Now();
}

void BindingCycles::Fail(const CyclePtr& cycle, Status status, bool while_binding) {
  if (cycle->stage == Cycle::Stage::kPreBind || cycle->stage == Cycle::Stage::kBind)
    OnPointEnd(cycle, status.code);
  End(cycle);
  {
    const runtime::MetricsRecorder::Traced traced(cycle->profile.metrics_recorder(), cycle->queued->trace);
    cycle->profile.RunUnreserve(cycle->placement);
  }
  DropState(*cycle);
  parts_.observer.OnBindingFailed(cycle->queued, cycle->node(), std::move(status), while_binding);
}

void BindingCycles::End(const CyclePtr& cycle) {
  DropDeadline(cycle);
  cycle->Advance(Cycle::Stage::kEnded);
  if (const auto found = cycles_.find(cycle->uid()); found != cycles_.end() && found->second == cycle)
    cycles_.erase(found);
}

// The last reference to a cycle may end on another thread, but the data of plugins must end on the loop's.
// Calls that have not completed may still read it; the last one of them drops it.
void BindingCycles::DropState(Cycle& cycle) {
  if (cycle.pending == 0) cycle.state = {};
}

framework::WaitingPod* BindingCycles::FindWaiting(std::string_view uid) {
  const auto found = cycles_.find(std::string(uid));
  const bool waits = found != cycles_.end() && found->second->stage == Cycle::Stage::kWaiting;
  return waits ? found->second.get() : nullptr;
}

void BindingCycles::ForEachWaiting(const std::function<void(framework::WaitingPod&)>& visit) {
  std::vector<CyclePtr> waiting;
  for (const auto& [uid, cycle] : cycles_) {
    if (cycle->stage == Cycle::Stage::kWaiting) waiting.push_back(cycle);
  }
  for (const CyclePtr& cycle : waiting) visit(*cycle);
}

bool BindingCycles::CancelPreBind(std::string_view uid, std::string message) {
  const auto found = cycles_.find(std::string(uid));
  if (found == cycles_.end() || found->second->stage != Cycle::Stage::kPreBind) return false;
  Cycle& cycle = *found->second;
  if (!cycle.cancelled) cycle.cancelled = std::move(message);
  cycle.stop.request_stop();
  return true;
}

bool BindingCycles::IsInPreBind(std::string_view uid) const {
  const auto found = cycles_.find(uid);
  return found != cycles_.end() && found->second->stage == Cycle::Stage::kPreBind;
}

std::size_t BindingCycles::Abandon(const std::string& why) {
  std::vector<CyclePtr> left;
  std::size_t pending = 0;
  for (const auto& [uid, cycle] : cycles_) left.push_back(cycle);
  for (const CyclePtr& cycle : left) {
    if (cycle->stage == Cycle::Stage::kBind) ++pending;
    cycle->stop.request_stop();
    Fail(cycle, Status::Error(why), true);
  }
  return pending;
}

void BindingCycles::OnDeadline(const CyclePtr& cycle) {
  cycle->deadline.reset();
  switch (cycle->stage) {
    case Cycle::Stage::kWaiting: {
      if (cycle->verdict) break;  // its step is under way
      const auto first = std::ranges::min_element(cycle->waits, {}, &Cycle::Wait::due);
      cycle->Reject(first->plugin, fmt::format("rejected due to timeout after waiting {} at plugin {}",
                                               FormatGoDuration(first->timeout), first->plugin));
      break;
    }
    case Cycle::Stage::kPreBind:
      cycle->stop.request_stop();
      Fail(cycle,
           Status::Error(fmt::format("running PreBind plugins: no result within {}",
                                     FormatGoDuration(cycle->longest_pre_bind))),
           true);
      break;
    case Cycle::Stage::kBind:
      Fail(cycle,
           Status::Error(fmt::format("running Bind plugin: no result within {}",
                                     FormatGoDuration(options_.bind_deadline))),
           true);
      break;
    default:
      break;
  }
}

// That of the plugin whose time-out expires first, of those that have not allowed the pod.
void BindingCycles::SetPermitDeadline(const CyclePtr& cycle) {
  const auto first = std::ranges::min_element(cycle->waits, {}, &Cycle::Wait::due);
  SetDeadline(cycle, first->due - parts_.clock.Now());
}

// A cycle has at most one deadline.
void BindingCycles::SetDeadline(const CyclePtr& cycle, Duration delay) {
  DropDeadline(cycle);
  BERTH_CHECK(cycle->stage != Cycle::Stage::kEnded, cycle->uid());
  cycle->deadline = parts_.timers.After(delay, [cycle] { cycle->cycles.OnDeadline(cycle); });
}

void BindingCycles::DropDeadline(const CyclePtr& cycle) {
  if (!cycle->deadline) return;
  parts_.timers.Cancel(*cycle->deadline);
  cycle->deadline.reset();
}

}  // namespace berth::cycle
