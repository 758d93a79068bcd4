#include "tests/faults/simulation.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <optional>
#include <set>

#include "process/load_config.hpp"
#include "sandbox/controllers/kinds.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "tests/faults/checker.hpp"
#include "tests/faults/control_plane.hpp"
#include "tests/faults/extender.hpp"
#include "tests/faults/network.hpp"
#include "tests/faults/prometheus.hpp"
#include "tests/faults/recordings.hpp"
#include "tests/faults/replica.hpp"
#include "tests/faults/workload.hpp"

namespace berth::faults {
namespace {

using sandbox::Kinds;
using sandbox::Known;
using std::chrono::milliseconds;
using std::chrono::seconds;

// How old the view of a scheduler may be: without faults, and with silent watches.
constexpr seconds kUsualStaleness{2}, kFaultyStaleness{150};
// A scheduler that starts in the final state has this time to bind a pod.
constexpr seconds kProofTime{20};
constexpr milliseconds kRestartDelay{1'500};
constexpr std::uint64_t kMaxRequestsPerSecond = 5'000;

bool IsWrite(const http::Request& request) {
  if (request.method == "GET") return false;
  return request.target.find("/leases") == std::string::npos &&
         request.target.find("/events") == std::string::npos;
}

config::SchedulerConfig ConfigOf(const Plan& plan, const runtime::Registry& plugins) {
  config::FeatureGates gates;
  if (plan.groups) {
    std::vector<std::string> notes;
    const std::string on[] = {"GenericWorkload=true"};
    gates = config::FeatureGates::Parse(on, notes).value();
  }
  config::SchedulerConfig config = plan.measured
                                       ? process::ReadConfig(MeasuredConfiguration(), plugins, gates).value()
                                       : config::DefaultSchedulerConfig(gates, &plugins.codecs());
  if (plan.extender != ExtenderUse::kNone)
    config.extenders.push_back(ExtenderConfiguration(plan.extender == ExtenderUse::kIgnorable));
  return config;
}

class Simulation {
 public:
  Simulation(const Plan& plan, const RunOutputs& outputs)
      : plan_(plan),
        timeline_(time_, outputs.timeline),
        random_(plan.seed * 77 + 5),
        network_(time_, plan.seed + 2000, timeline_,
                 [this](http::Request request, std::shared_ptr<http::Exchange> exchange) {
                   control_plane_.Handle(std::move(request), std::move(exchange));
                 }),
        control_plane_(time_, plan.seed + 1000),
        checker_(time_, timeline_,
                 {.staleness = [this] { return Duration(faulty_ ? kFaultyStaleness : kUsualStaleness); },
                  .faulty = [this] { return faulty_; },
                  .has_required_extender = plan.extender == ExtenderUse::kRequired,
                  .reading = ReadingOf(),
                  .client = [this] { return network_.executing(); }}),
        config_(ConfigOf(plan, plugins_)),
        loads_(plan.seed * 31 + 7, plan.End()) {
    if (plan.recorded) recordings_.emplace(plan.seed * 13 + 11, timeline_, outputs.recordings);
    control_plane_.store().Observe(checker_);
    network_.on_request = [this](const Client& client, const http::Request& request) {
      CheckRequest(client, request);
    };
    if (plan.calm) network_.SetCalm();
  }
  ~Simulation() { time_.Clear(); }

  RunResult Run();

 private:
  struct Slot {
    std::unique_ptr<Replica> replica;
    std::uint64_t starts = 0;
    Duration downtime = kRestartDelay;  // before the next start
    std::uint64_t holds = 0;            // steps that keep the process stopped
    ExtenderFault extender_fault = ExtenderFault::kNone;
    MeasurementFault measurement_fault = MeasurementFault::kNone;
    DiskFault disk_fault = DiskFault::kNone;
  };

  void Advance(Duration to);
  void CreateObjects();
  void StartReplica(std::size_t index);
  void StopReplica(std::size_t index, Duration downtime);
  void EndReplicas();
  void Kill(std::size_t index, Duration downtime);
  void Execute(const Step& step);
  void ExecuteUserStep(const Step& step);
  void ExecuteFault(const Step& step);
  void CreatePods(std::size_t pod_template, std::int64_t count);
  void CreateGroup(std::size_t pod_template, std::int64_t members);
  void DeletePods(std::int64_t count);
  void CheckRequest(const Client& client, const http::Request& request);
  void CheckEnd();
  void CheckReplica(const Replica& replica);
  void CheckNothingWasForgotten();
  void AddRepetitions(RunResult& result) const;
  std::string Holder() const;
  std::function<std::optional<Reading>(const std::string&, const std::string&)> ReadingOf();

  const Plan plan_;
  simulation::VirtualTime time_;
  Timeline timeline_;
  Random random_;
  Network network_;  // the control plane closes its watches at the end
  ControlPlane control_plane_;
  Checker checker_;
  const runtime::Registry plugins_ = assembly::InTreePlugins();
  const config::SchedulerConfig config_;
  const NodeLoads loads_;
  std::optional<Recordings> recordings_;   // empty: nothing is recorded
  std::array<Slot, kReplicas + 1> slots_;  // the last one for the proof at the end
  bool faulty_ = false;
  bool endless_ = false;  // a client sends requests without end
  std::uint64_t created_pods_ = 0;
  std::uint64_t created_sets_ = 0;
  std::uint64_t created_groups_ = 0;
};

RunResult Simulation::Run() {
  CreateObjects();
  for (std::size_t i = 0; i < kReplicas; ++i) StartReplica(i);
  for (const Step& step : plan_.steps) time_.At(step.at, [this, step] { Execute(step); });
  Advance(std::max<Duration>(plan_.End(), seconds(5)) + kSettleTime);
  if (!endless_) CheckEnd();
  if (!endless_) CheckNothingWasForgotten();
  EndReplicas();
  RunResult result;
  result.violations = checker_.violations();
  result.digest = timeline_.digest();
  result.counts = network_.injected();
  if (recordings_) AddRepetitions(result);
  result.counts["bindings"] = checker_.bindings();
  result.counts["requests"] = network_.requests();
  result.simulated = time_.now();
  return result;
}

void Simulation::AddRepetitions(RunResult& result) const {
  Recordings::Report report = recordings_->RepeatAll(plugins_);
  std::ranges::move(report.violations, std::back_inserter(result.violations));
  result.counts.merge(report.counts);
}

// A client that repeats a request without a delay would never come to an end.
void Simulation::Advance(Duration to) {
  for (Duration next = time_.now(); next < to && !endless_;) {
    next = std::min<Duration>(next + seconds(1), to);
    const std::uint64_t before = network_.requests();
    time_.AdvanceTo(next);
    endless_ = network_.requests() - before > kMaxRequestsPerSecond;
  }
  if (endless_)
    checker_.Report("requests are bounded", fmt::format("more than {} in a second", kMaxRequestsPerSecond));
}

void Simulation::CreateObjects() {
  control_plane_.Create(Known().priority_classes, "", R"({"metadata":{"name":"important"},"value":1000})");
  control_plane_.Create(
      Kinds().device_classes, "",
      R"({"metadata":{"name":"gpu.example.com"},"spec":{"selectors":[{"cel":{"expression":"device.driver == \"gpu.example.com\""}}]}})");
  control_plane_.Create(
      Kinds().resource_claim_templates, "default",
      R"({"metadata":{"name":"device"},"spec":{"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu.example.com"}}]}}}})");
  for (std::size_t i = 0; i < plan_.nodes; ++i) control_plane_.CreateNode(NodeJson(i));
}

// --- processes ---

void Simulation::StartReplica(std::size_t index) {
  Slot& slot = slots_[index];
  const std::uint64_t start = ++slot.starts;
  const std::string identity = fmt::format("replica-{}.{}", index, start);
  timeline_.Add(identity, "starts");
  slot.replica = std::make_unique<Replica>(
      time_, network_, timeline_,
      Replica::Options{.index = index,
                       .identity = identity,
                       .seed = random_.Next() >> 8,
                       .config = config_,
                       .plugins = plugins_,
                       .extender_fault = [&slot] { return slot.extender_fault; },
                       .loads = loads_,
                       .measurement_fault = [&slot] { return slot.measurement_fault; },
                       .recordings = recordings_ ? &*recordings_ : nullptr,
                       .disk_fault = [&slot] { return slot.disk_fault; },
                       .on_exit =
                           [this, index, start] {
                             Slot& ended = slots_[index];
                             if (ended.replica == nullptr || ended.starts != start) return;
                             StopReplica(index, std::exchange(ended.downtime, kRestartDelay));
                           }});
  if (slot.holds > 0) slot.replica->machine().Stop();
}

void Simulation::StopReplica(std::size_t index, Duration downtime) {
  slots_[index].replica.reset();
  time_.After(downtime, [this, index] {
    if (slots_[index].replica == nullptr) StartReplica(index);
  });
}

void Simulation::EndReplicas() {
  for (Slot& slot : slots_) {
    if (slot.replica != nullptr) slot.replica->CompleteRecording();
    slot.replica.reset();
  }
}

void Simulation::Kill(std::size_t index, Duration downtime) {
  if (slots_[index].replica == nullptr) return;
  const std::string identity = slots_[index].replica->identity();
  StopReplica(index, downtime);
  if (recordings_) recordings_->OnKill(identity);
}

// --- steps ---

void Simulation::Execute(const Step& step) {
  timeline_.Add("step", "{}", Describe(step));
  if (step.is_fault()) {
    // Missing measurements and faults of the disk delay nothing.
    faulty_ |= step.kind != StepKind::kMeasurementFault && step.kind != StepKind::kDiskFault;
    return ExecuteFault(step);
  }
  ExecuteUserStep(step);
}

void Simulation::CreatePods(std::size_t pod_template, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string name = fmt::format("{}-{}", kTemplates[pod_template].name, ++created_pods_);
    if (kTemplates[pod_template].needs_volume)
      control_plane_.Create(Kinds().claims, "default", VolumeClaimJson(name));
    control_plane_.Create(Known().pods, "default", PodJson(pod_template, name));
  }
}

void Simulation::CreateGroup(std::size_t pod_template, std::int64_t members) {
  const std::string name = fmt::format("group-{}", created_groups_++);
  control_plane_.Create(Kinds().pod_groups, "default", GroupJson(name, members));
  for (std::int64_t i = 0; i < members; ++i)
    control_plane_.Create(Known().pods, "default", MemberJson(pod_template, name, members, i));
}

void Simulation::DeletePods(std::int64_t count) {
  for (std::int64_t i = 0; i < count && !checker_.pods().empty(); ++i) {
    auto victim = checker_.pods().begin();
    std::advance(victim, random_.Below(checker_.pods().size()));
    const std::string key = victim->first;
    control_plane_.Delete(Known().pods, "default", key.substr(key.find('/') + 1));
  }
}

void Simulation::ExecuteUserStep(const Step& step) {
  const std::string node = NodeName(step.which);
  const auto edit = [this, node](const std::function<void(sandbox::json::object&)>& change) {
    control_plane_.Edit(Known().nodes, "", node, change);
  };
  switch (step.kind) {
    case StepKind::kCreatePods:
      return CreatePods(step.which, step.number);
    case StepKind::kCreateReplicaSet:
      control_plane_.Create(Kinds().replica_sets, "default",
                            ReplicaSetJson(step.which, fmt::format("set-{}", created_sets_++), step.number));
      return;
    case StepKind::kCreateGroup:
      return CreateGroup(step.which, step.number);
    case StepKind::kScaleReplicaSet:
      control_plane_.Edit(Kinds().replica_sets, "default", fmt::format("set-{}", step.which),
                          [&](auto& set) { sandbox::ObjectAt(set, "spec")["replicas"] = step.number; });
      return;
    case StepKind::kDeletePods:
      return DeletePods(step.number);
    case StepKind::kAddNode:
      return control_plane_.CreateNode(NodeJson(step.which));
    case StepKind::kDeleteNode:
      control_plane_.Delete(Known().nodes, "", node);
      time_.After(step.lasts, [this, node, number = step.which] {
        if (control_plane_.store().Get(Known().nodes, node) == nullptr)
          control_plane_.CreateNode(NodeJson(number));
      });
      return;
    case StepKind::kFailNode:
      edit([](auto& object) {
        sandbox::ObjectAt(sandbox::ObjectAt(object, "metadata"), "annotations")["sandbox.berth.dev/failure"] =
            "silent";
      });
      time_.After(step.lasts, [edit] {
        edit([](auto& object) {
          sandbox::ObjectAt(sandbox::ObjectAt(object, "metadata"), "annotations")
              .erase("sandbox.berth.dev/failure");
        });
      });
      return;
    case StepKind::kCordonNode:
      edit([](auto& object) { sandbox::ObjectAt(object, "spec")["unschedulable"] = true; });
      time_.After(step.lasts, [edit] {
        edit([](auto& object) { sandbox::ObjectAt(object, "spec").erase("unschedulable"); });
      });
      return;
    case StepKind::kTaintNode:
      edit([](auto& object) {
        sandbox::ArrayAt(sandbox::ObjectAt(object, "spec"), "taints")
            .push_back(sandbox::json::object{{"key", kTaint}, {"effect", "NoSchedule"}});
      });
      time_.After(step.lasts, [edit] {
        edit([](auto& object) {
          auto& taints = sandbox::ArrayAt(sandbox::ObjectAt(object, "spec"), "taints");
          const auto ours = std::ranges::find_if(taints, [](const auto& taint) {
            return sandbox::FindString(taint.get_object(), "key") == kTaint;
          });
          if (ours != taints.end()) taints.erase(ours);
        });
      });
      return;
    default:
      return;
  }
}

void Simulation::ExecuteFault(const Step& step) {
  Slot& slot = slots_[step.which];
  Link& link = network_.link(step.which);
  switch (step.kind) {
    case StepKind::kKill:
      return Kill(step.which, step.lasts);
    case StepKind::kTerminate:
      if (slot.replica == nullptr) return;
      slot.downtime = step.lasts;
      return slot.replica->Terminate();
    case StepKind::kStopProcess:
    case StepKind::kSuspendMachine: {
      ++slot.holds;
      if (slot.replica != nullptr) slot.replica->machine().Stop();
      const bool suspends = step.kind == StepKind::kSuspendMachine;
      time_.After(step.lasts, [&slot, suspends, lasts = step.lasts, start = slot.starts] {
        if (--slot.holds > 0 || slot.replica == nullptr) return;
        slot.replica->machine().Start(suspends && slot.starts == start ? lasts : Duration{});
      });
      return;
    }
    case StepKind::kPartition:
      network_.SetPartitioned(step.which, true);
      time_.After(step.lasts, [this, which = step.which] { network_.SetPartitioned(which, false); });
      return;
    case StepKind::kSlowNetwork:
      link.slowness = static_cast<int>(step.number);
      time_.After(step.lasts, [&link] { link.slowness = 1; });
      return;
    case StepKind::kRequestFaults: {
      const auto chance = [&](int bit, int thousandths) {
        return (step.number >> bit & 1) != 0 ? thousandths : 0;
      };
      link.faults = {.lost_request = chance(0, 100),
                     .lost_response = chance(1, 100),
                     .no_response = chance(2, 30),
                     .server_error = chance(3, 150),
                     .conflict = chance(4, 200),
                     .denied = chance(6, 300),
                     .delayed = chance(7, 100),
                     .repeated = chance(8, 100),
                     .executed_error = chance(5, 100),
                     .duplicate = 50,
                     .cut = 30};
      time_.After(step.lasts, [&link] { link.faults = {}; });
      return;
    }
    case StepKind::kCutWatches:
      return network_.CutWatches(step.which, 1000);
    case StepKind::kStallWatch:
      link.stalled_until[kStalledResources[step.number]] = time_.now() + step.lasts;
      return;
    case StepKind::kJumpClock:
      if (slot.replica != nullptr) slot.replica->machine().clock().JumpWall(seconds(step.number));
      return;
    case StepKind::kServerDown:
      network_.SetServerDown(true);
      time_.After(step.lasts, [this] { network_.SetServerDown(false); });
      return;
    case StepKind::kExtenderFault:
      slot.extender_fault = static_cast<ExtenderFault>(step.number);
      time_.After(step.lasts, [&slot] { slot.extender_fault = ExtenderFault::kNone; });
      return;
    case StepKind::kMeasurementFault:
      slot.measurement_fault = static_cast<MeasurementFault>(step.number);
      time_.After(step.lasts, [&slot] { slot.measurement_fault = MeasurementFault::kNone; });
      return;
    case StepKind::kDiskFault:
      slot.disk_fault = static_cast<DiskFault>(step.number);
      time_.After(step.lasts, [&slot] { slot.disk_fault = DiskFault::kNone; });
      return;
    case StepKind::kCompact:
      return control_plane_.store().Compact();
    default:
      return;
  }
}

// --- checks ---

std::function<std::optional<Reading>(const std::string&, const std::string&)> Simulation::ReadingOf() {
  if (!plan_.measured || !plan_.IsPrompt()) return {};
  return [this](const std::string& process, const std::string& node) -> std::optional<Reading> {
    for (const Slot& slot : slots_) {
      if (slot.replica != nullptr && slot.replica->identity() == process)
        return slot.replica->ReadingOf(node);
    }
    return Reading{.at = time_.now()};  // the process has ended meanwhile
  };
}

std::string Simulation::Holder() const {
  const sandbox::ObjectPtr lease =
      const_cast<ControlPlane&>(control_plane_).store().Get(Known().leases, "kube-system/kube-scheduler");
  if (lease == nullptr) return {};
  const sandbox::Document document = lease->Parse();
  return std::string(sandbox::FindString(document.root(), "spec.holderIdentity"));
}

void Simulation::CheckRequest(const Client& client, const http::Request& request) {
  if (!IsWrite(request)) return;
  timeline_.Add(client.process, "{} {}", request.method, request.target);
  if (client.late) return;  // sent when its process held the lease
  const std::string holder = Holder();
  if (holder != client.process && !holder.empty()) {
    checker_.Report("one leader writes", fmt::format("{} {} of {} is executed while {} holds the lease",
                                                     request.method, request.target, client.process, holder));
  }
  checker_.OnRequest(client, request);
}

void Simulation::CheckEnd() {
  const std::string holder = Holder();
  const auto leader = std::ranges::find_if(slots_, [&](const Slot& slot) {
    return slot.replica != nullptr && slot.replica->identity() == holder;
  });
  if (leader == slots_.end() || !leader->replica->fence_open()) {
    return checker_.Report("a leader is elected", fmt::format("the lease is held by \"{}\"", holder));
  }
  for (const Slot& slot : slots_) {
    if (slot.replica != nullptr) CheckReplica(*slot.replica);
  }
  checker_.CheckGroups();
  const cycle::Scheduler& scheduler = leader->replica->scheduler();
  for (const auto& [key, pod] : checker_.pods()) {
    if (pod.waiting() && !scheduler.queue().Contains(pod.uid))
      checker_.Report("no pod is lost", fmt::format("{} is in no place of the queue of {}", key, holder));
  }
  const queue::QueueSizes sizes = scheduler.queue().sizes();
  if (sizes.active + sizes.in_flight > 0) {
    checker_.Report("the queue comes to rest",
                    fmt::format("{} pods are active and {} in flight", sizes.active, sizes.in_flight));
  }
}

// The replica's model of the cluster equals the store, and nothing of earlier attempts is left.
void Simulation::CheckReplica(const Replica& replica) {
  const cluster::ClusterState& cache = replica.engine().cache();
  if (cache.assumed_count() > 0) {
    checker_.Report("no pod stays assumed",
                    fmt::format("{} has {} assumed pods", replica.identity(), cache.assumed_count()));
  }
  std::vector<api::PodPtr> bound;
  cache.AppendBoundPods(bound);
  std::set<std::string> known, stored;
  for (const api::PodPtr& pod : bound) known.insert(pod->metadata.uid + " on " + pod->spec.node_name.str());
  for (const auto& [key, pod] : checker_.pods()) {
    if (!pod.node.empty() && !pod.ended) stored.insert(pod.uid + " on " + pod.node);
  }
  if (known != stored) {
    checker_.Report(
        "the cache equals the store",
        fmt::format("{} has {} bound pods, the store {}", replica.identity(), known.size(), stored.size()));
  }
  if (cache.nodes().node_count() != control_plane_.store().All(Known().nodes).size())
    checker_.Report("the cache equals the store", fmt::format("{} has other nodes", replica.identity()));
  for (const auto& [uid, nomination] : replica.scheduler().queue().nominator().all()) {
    if (!replica.scheduler().queue().Contains(uid)) {
      checker_.Report("nominations belong to waiting pods",
                      fmt::format("{} has a nomination of {}", replica.identity(), uid));
    }
  }
}

// A scheduler that starts now finds no work: the others have bound every pod that can be bound.
void Simulation::CheckNothingWasForgotten() {
  EndReplicas();
  for (std::size_t i = 0; i < kReplicas; ++i)
    slots_[i].starts += 1'000;  // none of the pending restarts is valid
  control_plane_.Delete(Known().leases, "kube-system", "kube-scheduler");
  const std::uint64_t before = checker_.bindings();
  // If the response to a write of a claim is lost and the pod is deleted meanwhile, the device becomes free
  // when the client gives the response up, 60 s later. As in kube-scheduler, this is not an event for other
  // pods.
  const bool devices_became_free = network_.injected().contains("no response");
  std::set<std::string> waiting;
  for (const auto& [key, pod] : checker_.pods()) {
    const bool tolerated = kTemplates[pod.pod_template].needs_device && devices_became_free;
    if (pod.waiting() && !tolerated) waiting.insert(key);
  }
  if (waiting.empty()) return;
  StartReplica(kReplicas);
  Advance(time_.now() + kProofTime);
  if (checker_.bindings() == before) return;
  for (const std::string& key : waiting) {
    const auto pod = checker_.pods().find(key);
    if (pod != checker_.pods().end() && !pod->second.node.empty())
      checker_.Report("every pod that fits is bound", fmt::format("{} fits on {}", key, pod->second.node));
  }
}

}  // namespace

RunResult Run(const Plan& plan, const RunOutputs& outputs) { return Simulation(plan, outputs).Run(); }

}  // namespace berth::faults
