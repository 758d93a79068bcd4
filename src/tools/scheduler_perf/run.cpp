#include "tools/scheduler_perf/run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <memory>
#include <optional>

#include "kubernetes/ports/ports.hpp"
#include "simulation/virtual_cluster.hpp"
#include "tools/scheduler_perf/api_objects.hpp"
#include "tools/scheduler_perf/manifests.hpp"
#include "tools/scheduler_perf/measuring_pods.hpp"

namespace berth::scheduler_perf {
namespace {

using namespace std::chrono_literals;
using yaml::Value;

constexpr Duration kRequest = 200us;  // between two objects that a client creates
constexpr Duration kPoll = 1s;
constexpr Duration kPatience = 10min;

double ProcessCpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Adds the CPU time of its scope to a sum.
class CpuTimer {
 public:
  explicit CpuTimer(double& sum) : sum_(sum) {}
  ~CpuTimer() { sum_ += ProcessCpuSeconds() - start_; }
  CpuTimer(const CpuTimer&) = delete;
  CpuTimer& operator=(const CpuTimer&) = delete;

 private:
  double& sum_;
  const double start_ = ProcessCpuSeconds();
};

class TestRun final : public simulation::ApiObserver {
 public:
  TestRun(const PerformanceTest& test, const config::SchedulerConfig& config, const RunTestOptions& options,
          simulation::VirtualCluster& cluster, const std::atomic<bool>& stop)
      : test_(test),
        options_(options),
        cluster_(cluster),
        stop_(stop),
        scheduler_name_(config.profiles.front().scheduler_name),
        objects_(cluster.api(), {.pod_groups = config.gates.Enabled("GenericWorkload"),
                                 .group_claims = config.gates.Enabled("DRAWorkloadResourceClaims"),
                                 .most_pods = kMostPods,
                                 .on_created = [this](const api::Pod& pod) {
                                   if (measurement_) measurement_->OnCreated(pod);
                                 }}) {
    result_.configuration = options.configuration;
    cluster_.api().SetObserver(this);
  }

  Expected<TestResult> Execute();

  // --- ApiObserver ---
  void OnBound(const api::PodPtr& pod) override;
  void OnPreempted(const api::PodPtr&) override { ++result_.preempted; }
  void OnPodRemoved(const api::PodPtr& pod) override { objects_.OnPodRemoved(*pod); }
  void OnEvent(const ports::Event& event) override {
    if (event.reason == "FailedScheduling") ++result_.failed_attempts;
  }

 private:
  using Make = std::function<Expected<void>(std::size_t index)>;

  Expected<void> Run(const CreateNodes& operation);
  Expected<void> Run(const CreateNamespaces& operation);
  Expected<void> Run(const CreatePods& operation);
  Expected<void> Run(const CreatePodGroups& operation);
  Expected<void> Run(const CreateObjects& operation);
  Expected<void> Run(const UpdateObjects& operation);
  Expected<void> Run(const DeletePods& operation);
  Expected<void> Run(const Churn& operation);
  Expected<void> Run(const Barrier& operation);
  Expected<void> Run(const Sleep& operation) { return RunFor(operation.time); }
  Expected<void> Run(const StartMeasuring& operation);
  Expected<void> Run(const StopMeasuring&);
  Expected<void> Run(const AllocateClaims& operation);
  Expected<void> Run(const Ignored&) { return {}; }

  // Virtual time passes. Fails if an event has failed, or with kCancelled after an interrupt.
  Expected<void> RunFor(Duration time);
  // Calls make(0) to make(count - 1), one after each gap, beside what else happens; the first error ends it.
  void Repeat(std::size_t index, std::size_t count, Duration gap, std::shared_ptr<const Make> make);
  // The same, and waits until it is complete.
  Expected<void> RepeatAndWait(std::size_t count, Duration gap, Make make);

  Expected<void> CreateNode(const CreateNodes& operation, std::size_t index);
  Expected<void> CreatePod(const CreatePods& operation, std::size_t index, std::size_t count);
  Expected<void> KeepSteady(const CreatePods& operation);
  void ChurnOnce(const std::shared_ptr<const Churn>& churn, std::size_t round,
                 const std::shared_ptr<std::vector<std::vector<std::string>>>& names);

  // Waits until `wanted` pods of the selection are scheduled, or attempted.
  Expected<void> WaitForPods(const PodSelection& selection, std::size_t wanted, bool attempted);
  std::vector<api::PodPtr> PodsOf(const PodSelection& selection) const;
  void StartMeasurement(std::string name, PodSelection selection);
  void StopMeasurement();
  Totals Now() const {
    return {cluster_.time().now(), cluster_.attempts(), result_.failed_attempts,
            ProcessCpuSeconds() - creation_cpu_};
  }

  const PerformanceTest& test_;
  const RunTestOptions& options_;
  simulation::VirtualCluster& cluster_;
  const std::atomic<bool>& stop_;
  const std::string scheduler_name_;
  ApiObjects objects_;
  TestResult result_;
  double creation_cpu_ = 0;     // of clients: templates, YAML
  std::optional<Error> error_;  // of an event
  std::optional<PodMeasurement> measurement_;
  std::function<void(const api::PodPtr&)> on_bound_;  // of a steady state
  // Pods by namespace whose operation did not wait for them; a barrier forgets those that it has waited for.
  std::map<std::string, std::size_t> unwaited_;
};

Expected<TestResult> TestRun::Execute() {
  const double cpu = ProcessCpuSeconds();
  cluster_.Start();
  result_.complete = true;
  for (std::size_t i = 0; i < test_.operations.size() && result_.complete; ++i) {
    const Operation& operation = test_.operations[i];
    if (options_.progress) options_.progress(i);
    auto done = std::visit([this](const auto& action) { return Run(action); }, operation.action);
    if (done) continue;
    if (done.error().code != ErrorCode::kCancelled)
      return std::unexpected(
          std::move(done).error().In(fmt::format("operation {} ({})", i, operation.opcode)));
    result_.complete = false;
  }
  StopMeasurement();
  result_.nodes = objects_.nodes();
  result_.pods = objects_.pods();
  result_.bound = cluster_.api().bindings();
  result_.attempts = cluster_.attempts();
  result_.virtual_time = cluster_.time().now();
  result_.cpu_seconds = ProcessCpuSeconds() - cpu - creation_cpu_;
  return std::move(result_);
}

void TestRun::OnBound(const api::PodPtr& pod) {
  if (measurement_) measurement_->OnBound(*pod, cluster_.time().now());
  if (options_.placements) options_.placements(cluster_.time().now(), *pod);
  if (on_bound_) on_bound_(pod);
}

// --- time ---

Expected<void> TestRun::RunFor(Duration time) {
  const bool reached = cluster_.RunUntil(cluster_.time().now() + time, stop_);
  if (error_) return std::unexpected(*error_);
  if (!reached) return Fail(ErrorCode::kCancelled, "interrupted");
  return {};
}

void TestRun::Repeat(std::size_t index, std::size_t count, Duration gap, std::shared_ptr<const Make> make) {
  if (index == count || error_) return;
  cluster_.time().After(gap, [this, index, count, gap, make = std::move(make)] {
    const CpuTimer timer(creation_cpu_);
    if (auto made = (*make)(index); !made) {
      error_ = std::move(made).error();
      return;
    }
    Repeat(index + 1, count, gap, make);
  });
}

Expected<void> TestRun::RepeatAndWait(std::size_t count, Duration gap, Make make) {
  Repeat(0, count, gap, std::make_shared<const Make>(std::move(make)));
  return RunFor(gap * static_cast<std::int64_t>(count));
}

// --- nodes and other objects ---

Expected<void> TestRun::Run(const CreateNodes& operation) {
  return RepeatAndWait(operation.count, kRequest,
                       [&](std::size_t index) { return CreateNode(operation, index); });
}

Expected<void> TestRun::CreateNode(const CreateNodes& operation, std::size_t index) {
  BERTH_TRY(const Value node, NodeManifest(operation, index, objects_.nodes()));
  BERTH_RETURN_IF_ERROR(objects_.Create(node, ""));
  if (!operation.csi_allocatable) return {};
  BERTH_RETURN_IF_ERROR(objects_.Create(CsiNodeManifest(operation, node), ""));
  return {};
}

Expected<void> TestRun::Run(const CreateNamespaces& operation) {
  return RepeatAndWait(operation.count, kRequest, [&](std::size_t index) -> Expected<void> {
    const std::string name = fmt::format("{}-{}", operation.prefix, index);
    BERTH_TRY(const Value ns, NamespaceManifest(operation, name));
    unwaited_.try_emplace(name, 0);
    auto created = objects_.Create(ns, "");
    if (!created && created.error().code != ErrorCode::kAlreadyExists)
      return std::unexpected(created.error());
    return {};
  });
}

Expected<void> TestRun::Run(const CreatePodGroups& operation) {
  objects_.EnsureNamespace(operation.ns);
  unwaited_.try_emplace(operation.ns, 0);
  BERTH_RETURN_IF_ERROR(RepeatAndWait(operation.count, kRequest, [&](std::size_t index) -> Expected<void> {
    BERTH_TRY(const Value group, operation.model.Object(index, operation.count));
    BERTH_RETURN_IF_ERROR(objects_.Create(group, operation.ns));
    return {};
  }));
  constexpr Duration kArrival = 100ms;  // at the scheduler
  return RunFor(kArrival);
}

Expected<void> TestRun::Run(const CreateObjects& operation) {
  if (!operation.ns.empty()) {
    objects_.EnsureNamespace(operation.ns);
    unwaited_.try_emplace(operation.ns, 0);
  }
  return RepeatAndWait(operation.count, kRequest, [&](std::size_t index) -> Expected<void> {
    BERTH_TRY(const Value object, operation.model.Object(index, operation.count));
    BERTH_RETURN_IF_ERROR(objects_.Create(object, operation.ns));
    return {};
  });
}

Expected<void> TestRun::Run(const UpdateObjects& operation) {
  const Duration gap =
      operation.per_second == 0 ? kRequest : Duration(1s) / static_cast<std::int64_t>(operation.per_second);
  return RepeatAndWait(operation.count, gap, [&](std::size_t index) -> Expected<void> {
    BERTH_TRY(const Value object, operation.model.Object(index, operation.count));
    return objects_.Update(object, operation.ns);
  });
}

// --- pods ---

Expected<void> TestRun::Run(const CreatePods& operation) {
  objects_.EnsureNamespace(operation.ns);
  unwaited_.try_emplace(operation.ns, 0);
  if (operation.measured) StartMeasurement(operation.ns, {.namespaces = {operation.ns}, .labels = {}});
  if (operation.steady) {
    BERTH_RETURN_IF_ERROR(KeepSteady(operation));
  } else {
    BERTH_RETURN_IF_ERROR(RepeatAndWait(operation.count, kRequest, [&](std::size_t index) {
      return CreatePod(operation, index, operation.count);
    }));
    if (!operation.waits) {
      unwaited_[operation.ns] += operation.count;
    } else {
      BERTH_RETURN_IF_ERROR(
          WaitForPods({.namespaces = {operation.ns}, .labels = {}}, operation.count, false));
    }
  }
  if (operation.measured) StopMeasurement();
  return {};
}

Expected<void> TestRun::CreatePod(const CreatePods& operation, std::size_t index, std::size_t count) {
  BERTH_TRY(Value pod, PodManifest(operation, index, count));
  if (operation.claim) {
    BERTH_TRY(const VolumeManifests manifests, ManifestsOfVolume(operation, index));
    BERTH_RETURN_IF_ERROR(objects_.Create(manifests.claim, operation.ns));
    BERTH_RETURN_IF_ERROR(objects_.Create(manifests.volume, ""));
    UseClaim(pod, index);
  }
  BERTH_RETURN_IF_ERROR(objects_.Create(pod, operation.ns));
  return {};
}

// Each bound pod of the namespace is removed and replaced.
Expected<void> TestRun::KeepSteady(const CreatePods& operation) {
  const Duration end = cluster_.time().now() + *operation.steady;
  std::size_t bound = 0;
  on_bound_ = [&](const api::PodPtr& pod) {
    if (pod->metadata.ns != operation.ns) return;
    ++bound;
    if (cluster_.time().now() >= end) return;
    cluster_.time().After(kRequest, [this, &operation, pod] {
      if (error_ || !on_bound_) return;
      const CpuTimer timer(creation_cpu_);
      objects_.RemovePodAtOnce(*pod);
      if (auto created = CreatePod(operation, 0, 1); !created) error_ = std::move(created).error();
    });
  };
  Repeat(0, operation.count, kRequest, std::make_shared<const Make>([&](std::size_t index) {
           return CreatePod(operation, index, operation.count);
         }));
  auto done = RunFor(*operation.steady);
  on_bound_ = nullptr;
  BERTH_RETURN_IF_ERROR(done);
  if (bound == 0) return Invalid("no pod was scheduled in the time of the steady state");
  return {};
}

Expected<void> TestRun::Run(const DeletePods& operation) {
  const auto pods = std::make_shared<const std::vector<api::PodPtr>>(
      PodsOf({.namespaces = {operation.ns}, .labels = operation.labels}));
  const Duration gap = operation.per_second == 0
                           ? Duration::zero()
                           : Duration(1s) / static_cast<std::int64_t>(operation.per_second);
  Make remove = [this, pods](std::size_t index) -> Expected<void> {
    cluster_.api().TerminatePod((*pods)[index]->metadata.Key());
    return {};
  };
  if (operation.waits) return RepeatAndWait(pods->size(), gap, std::move(remove));
  Repeat(0, pods->size(), gap, std::make_shared<const Make>(std::move(remove)));
  return {};
}

// --- churn ---

Expected<void> TestRun::Run(const Churn& operation) {
  objects_.EnsureNamespace(operation.ns);
  const auto churn = std::make_shared<const Churn>(operation);
  ChurnOnce(
      churn, 0,
      std::make_shared<std::vector<std::vector<std::string>>>(
          operation.models.size(), std::vector<std::string>(operation.recreates ? operation.number : 0)));
  return {};
}

// An object that cannot be created is left out, as in scheduler_perf.
void TestRun::ChurnOnce(const std::shared_ptr<const Churn>& churn, std::size_t round,
                        const std::shared_ptr<std::vector<std::vector<std::string>>>& names) {
  if (!churn->recreates && churn->number > 0 && round == churn->number) return;
  cluster_.time().After(churn->interval, [this, churn, round, names] {
    const CpuTimer timer(creation_cpu_);
    for (std::size_t i = 0; i < churn->models.size(); ++i) {
      auto object = churn->models[i].Object(0, 1);
      if (!object) {
        error_ = std::move(object).error();
        return;
      }
      const Value* kind = object->Find("kind");
      const std::string text = kind == nullptr ? "" : kind->text;
      std::string* name = churn->recreates ? &(*names)[i][round % churn->number] : nullptr;
      if (name != nullptr && !name->empty()) {
        objects_.Remove(text, churn->ns, *name);
        name->clear();
        continue;
      }
      auto created = objects_.Create(*object, ApiObjects::IsNamespaced(text) ? churn->ns : "");
      if (!created && created.error().code != ErrorCode::kAlreadyExists) {
        error_ = std::move(created).error();
        return;
      }
      if (name != nullptr && created) *name = *std::move(created);
    }
    ChurnOnce(churn, round + 1, names);
  });
}

// --- waiting ---

Expected<void> TestRun::Run(const Barrier& operation) {
  std::vector<std::string> namespaces = operation.namespaces;
  for (const std::string& ns : namespaces) {
    if (!unwaited_.contains(ns))
      return Invalid(fmt::format("namespaces: no operation has created pods in \"{}\"", ns));
  }
  if (namespaces.empty()) {
    for (const auto& [ns, count] : unwaited_) namespaces.push_back(ns);
  }
  for (const std::string& ns : namespaces)
    BERTH_RETURN_IF_ERROR(
        WaitForPods({.namespaces = {ns}, .labels = operation.labels}, unwaited_[ns], operation.attempted));
  if (operation.attempted) return {};
  for (const std::string& ns : namespaces) unwaited_.erase(ns);
  return {};
}

std::vector<api::PodPtr> TestRun::PodsOf(const PodSelection& selection) const {
  std::vector<api::PodPtr> pods;
  cluster_.api().ForEach<api::Pod>([&](const api::PodPtr& pod) {
    if (selection.Contains(*pod)) pods.push_back(pod);
  });
  // In the order of creation: UIDs are ascending numbers.
  std::ranges::sort(pods, {}, [](const api::PodPtr& pod) {
    return std::pair(pod->metadata.uid.size(), std::string_view(pod->metadata.uid));
  });
  return pods;
}

Expected<void> TestRun::WaitForPods(const PodSelection& selection, std::size_t wanted, bool attempted) {
  const Duration end = cluster_.time().now() + kPatience;
  for (;;) {
    std::size_t ready = 0;
    api::PodPtr waiting;
    cluster_.api().ForEach<api::Pod>([&](const api::PodPtr& pod) {
      if (!selection.Contains(*pod)) return;
      const auto& conditions = pod->status.conditions;
      const bool tried =
          std::ranges::find(conditions, "PodScheduled", &api::PodCondition::type) != conditions.end();
      if (!pod->spec.node_name.empty() || (attempted && tried)) {
        ++ready;
      } else if (waiting == nullptr || pod->metadata.Key() < waiting->metadata.Key()) {
        waiting = pod;
      }
    });
    if (ready >= wanted) return {};
    if (cluster_.time().now() >= end) {
      std::string reason;
      if (waiting != nullptr) {
        reason = fmt::format("; {} waits", waiting->metadata.Key());
        for (const api::PodCondition& condition : waiting->status.conditions)
          reason += ": " + condition.message;
      }
      return Fail(
          ErrorCode::kTimeout,
          fmt::format("{} of {} pods in {} are {} after ten minutes of virtual time{}", ready, wanted,
                      fmt::join(selection.namespaces, ", "), attempted ? "attempted" : "scheduled", reason));
    }
    BERTH_RETURN_IF_ERROR(RunFor(kPoll));
  }
}

// --- measuring ---

Expected<void> TestRun::Run(const StartMeasuring& operation) {
  if (measurement_) return Invalid("metrics are collected already; stopCollectingMetrics is missing before");
  const std::string namespaces = fmt::format("{}", fmt::join(operation.namespaces, ", "));
  StartMeasurement(operation.name.empty() ? namespaces : operation.name,
                   {.namespaces = operation.namespaces, .labels = operation.labels});
  return {};
}

Expected<void> TestRun::Run(const StopMeasuring&) {
  if (!measurement_) return Invalid("no metrics are collected; startCollectingMetrics is missing before");
  StopMeasurement();
  return {};
}

void TestRun::StartMeasurement(std::string name, PodSelection selection) {
  StopMeasurement();
  measurement_.emplace(std::move(name), std::move(selection), Now());
  cluster_.api().ForEach<api::Pod>([&](const api::PodPtr& pod) {
    if (pod->spec.node_name.empty()) measurement_->OnCreated(*pod);
  });
}

void TestRun::StopMeasurement() {
  if (!measurement_) return;
  result_.measurements.push_back(std::move(*measurement_).Finish(Now()));
  measurement_.reset();
}

// --- claims ---

// scheduler_perf allocates the claims itself, on random nodes. Here a pod for each claim makes the scheduler
// allocate it and is then removed, while the claim stays allocated.
Expected<void> TestRun::Run(const AllocateClaims& operation) {
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
  cluster_.api().ForEach<api::ResourceClaim>([&](const auto& claim) {
    if (!claim->allocation && (operation.ns.empty() || claim->metadata.ns == operation.ns))
      claims.push_back(claim);
  });
  std::ranges::sort(claims, {}, [](const auto& claim) { return claim->metadata.Key(); });
  const api::Labels mark{{"simulation.berth.dev/allocates", "claim"}};
  BERTH_RETURN_IF_ERROR(RepeatAndWait(claims.size(), kRequest, [&](std::size_t index) -> Expected<void> {
    const api::ResourceClaim& claim = *claims[index];
    const Value pod = AllocatingPodManifest(scheduler_name_, claim.metadata.name, mark);
    BERTH_RETURN_IF_ERROR(objects_.Create(pod, claim.metadata.ns.str()));
    return {};
  }));
  const PodSelection pods{.namespaces = {}, .labels = mark};
  BERTH_RETURN_IF_ERROR(WaitForPods(pods, claims.size(), false));
  for (const auto& each : claims) {
    const auto current = cluster_.api().Find<api::ResourceClaim>(each->metadata.Key());
    if (current == nullptr || !current->allocation)
      return Invalid(fmt::format("{} was not allocated", each->metadata.Key()));
    api::ResourceClaim claim = *current;
    claim.reserved_for.clear();
    cluster_.api().Put(std::move(claim));
  }
  for (const api::PodPtr& pod : PodsOf(pods)) objects_.RemovePodAtOnce(*pod);
  return RunFor(kRequest);
}

}  // namespace

Expected<TestResult> RunTest(const PerformanceTest& test, const config::SchedulerConfig& config,
                             const runtime::Registry& plugins, const RunTestOptions& options,
                             const std::atomic<bool>& stop) {
  std::vector<std::string> notes;
  BERTH_TRY(const auto cluster,
            simulation::VirtualCluster::Build(
                config, plugins, {.latencies = {}, .decision = 50us, .seed = options.seed}, notes));
  return TestRun(test, config, options, *cluster, stop).Execute();
}

}  // namespace berth::scheduler_perf
