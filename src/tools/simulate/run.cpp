#include "tools/simulate/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <memory>

#include "base/check.hpp"
#include "simulation/virtual_cluster.hpp"
#include "tools/simulate/arrival_stream.hpp"
#include "tools/simulate/autoscaler.hpp"
#include "tools/simulate/meter.hpp"
#include "tools/simulate/node_fleet.hpp"
#include "tools/simulate/pod_groups.hpp"

namespace berth::simulate {
namespace {

// Streams of random numbers that do not depend on each other.
enum class Stream : std::uint64_t { kScheduler = 1, kFailures = 2, kTrace = 3, kArrivals = 1000 };

std::uint64_t SeedOf(std::uint64_t seed, Stream stream, std::uint64_t number = 0) {
  Random random(seed ^ (static_cast<std::uint64_t>(stream) + number) * 0x9e3779b97f4a7c15ULL);
  random.Next();
  return random.Next();
}

std::size_t DrawSize(const std::vector<GroupSize>& sizes, Random& random) {
  double sum = 0;
  for (const GroupSize& size : sizes) sum += size.weight;
  double left = sum * random.Unit();
  for (const GroupSize& size : sizes) {
    left -= size.weight;
    if (left < 0) return size.members;
  }
  return sizes.back().members;
}

class Run final : public simulation::ApiObserver {
 public:
  Run(const Workload& workload, const config::SchedulerConfig& config, const RunOptions& options,
      simulation::VirtualCluster& cluster)
      : workload_(workload),
        options_(options),
        watches_pod_groups_(config.gates.Enabled("GenericWorkload")),
        cluster_(cluster),
        meter_(workload),
        fleet_(workload, SeedOf(options.seed, Stream::kFailures), cluster, meter_, result_,
               [this](std::uint32_t node) { LosePods(node); }),
        autoscaler_(workload, cluster, meter_, fleet_, result_),
        serials_(workload.kinds.size()) {
    result_.configuration = options.configuration;
    result_.resources = meter_.resources().names();
    for (const PodKind& kind : workload.kinds) {
      result_.kinds.emplace_back().name = kind.name;
      result_.groups.any |= kind.group.has_value();
    }
  }

  Expected<Result> Execute(const std::atomic<bool>& stop, const Progress& progress);

  // --- ApiObserver ---
  void OnBound(const api::PodPtr& pod) override;
  void OnPreempted(const api::PodPtr& pod) override;
  void OnPodRemoved(const api::PodPtr& pod) override;
  void OnEvent(const ports::Event& event) override;

 private:
  static constexpr std::uint32_t kNoNode = UINT32_MAX;
  enum class End : std::uint8_t { kCompleted, kPreempted, kLost, kStopped };
  // A pod that exists. Its slot is part of its UID: "<slot>-<serial>".
  struct LivePod {
    std::uint32_t kind = 0;
    std::uint32_t node = kNoNode;
    std::uint32_t place = 0;  // in the list of its node
    std::uint32_t group = kNoGroup;
    End end = End::kCompleted;
    Duration created{};
    std::optional<Duration> lifetime;
    simulation::VirtualTime::EventId completion{};  // of a bound pod with a lifetime
    std::uint64_t serial = UINT64_MAX;
    api::PodPtr object;  // as created or bound; null: the slot is unused
  };

  void CreateObjects();
  void StartArrivals();
  void Arrive(const std::shared_ptr<ArrivalStream>& stream, std::uint32_t kind);
  void ArriveFromTrace();
  void CreateGroup(std::uint32_t kind, std::size_t members, std::optional<Duration> lifetime);
  static void Join(const LiveGroup& group, const GroupShape& shape, api::Pod& pod);
  // Returns the pod's slot; nullopt: there are too many pods.
  std::optional<std::uint32_t> Create(std::uint32_t kind, std::optional<Duration> lifetime,
                                      std::uint32_t group = kNoGroup);
  // Calls `create` when the controller of the kind replaces a pod or group, if it does.
  void Replace(const PodKind& kind, std::function<void()> create);
  void CreateClaims(const PodKind& kind, api::Pod& pod);
  static std::uint64_t& CounterOf(KindResult& kind, End end);
  void OnMemberBound(std::uint32_t group);
  void OnMemberRemoved(const LivePod& pod);
  void EndGroup(std::uint32_t group, End end);
  void RemoveFromApi(std::uint32_t slot);
  void LosePods(std::uint32_t node);
  void Detach(std::uint32_t slot);
  // nullopt: the pod no longer exists.
  std::optional<std::uint32_t> FindSlot(const std::string& uid) const;
  std::uint32_t SlotOf(const std::string& uid) const;
  KindResult& ResultOf(const LivePod& pod) { return result_.kinds[pod.kind]; }
  void TakeSample();
  void Finish(bool complete);
  void FinishGroups();

  const Workload& workload_;
  const RunOptions options_;
  const bool watches_pod_groups_;  // the scheduler does
  simulation::VirtualCluster& cluster_;
  Result result_;
  Meter meter_;
  NodeFleet fleet_;
  Autoscaler autoscaler_;
  std::vector<LivePod> pods_;
  std::vector<std::uint32_t> unused_;  // slots
  LiveGroups groups_;
  std::uint64_t waiting_groups_ = 0;
  std::size_t live_ = 0;
  std::uint64_t serial_ = 0;
  std::vector<std::uint64_t> serials_;  // by kind
  std::size_t traced_ = 0;              // pods of the trace that have arrived
  bool too_many_ = false;
};

Expected<Result> Run::Execute(const std::atomic<bool>& stop, const Progress& progress) {
  cluster_.api().SetObserver(this);
  CreateObjects();
  fleet_.Start();
  cluster_.Start();
  StartArrivals();
  autoscaler_.Start([this](const std::string& uid) {
    const auto slot = FindSlot(uid);
    return slot ? std::optional(pods_[*slot].kind) : std::nullopt;
  });
  bool running = true;
  for (std::size_t i = 1; i <= options_.samples && running; ++i) {
    const auto share = static_cast<double>(i) / static_cast<double>(options_.samples);
    const Duration until =
        i == options_.samples
            ? workload_.duration
            : Duration(static_cast<std::int64_t>(static_cast<double>(workload_.duration.count()) * share));
    running = cluster_.RunUntil(until, stop) && !too_many_;
    TakeSample();
    if (progress) progress(cluster_.time().now(), cluster_.api().bindings());
  }
  if (too_many_)
    return Invalid(
        fmt::format("more than {} pods exist after {:.0f} s; expected fewer arrivals or shorter "
                    "lifetimes",
                    Workload::kMostPods, std::chrono::duration<double>(cluster_.time().now()).count()));
  Finish(running);
  return std::move(result_);
}

void Run::CreateObjects() {
  for (const ports::ClusterChange& object : workload_.objects) {
    std::visit(
        [&]<class T>(const ports::Change<T>& change) {
          if constexpr (!std::same_as<T, api::Pod>) cluster_.api().Put(*change.after);
        },
        object);
  }
}

// --- arrivals ---

void Run::StartArrivals() {
  std::uint64_t number = 0;
  for (std::uint32_t kind = 0; kind < workload_.kinds.size(); ++kind) {
    for (const Arrivals& arrivals : workload_.kinds[kind].arrivals)
      Arrive(std::make_shared<ArrivalStream>(arrivals, SeedOf(options_.seed, Stream::kArrivals, number++)),
             kind);
  }
  ArriveFromTrace();
}

void Run::Arrive(const std::shared_ptr<ArrivalStream>& stream, std::uint32_t kind) {
  const auto next = stream->Next();
  if (!next) return;
  cluster_.time().At(*next, [this, stream, kind] {
    const auto& lifetime = workload_.kinds[kind].lifetime;
    const auto& shape = workload_.kinds[kind].group;
    for (std::size_t i = 0; i < stream->count() && !too_many_; ++i) {
      const std::size_t members = shape ? DrawSize(shape->sizes, stream->random()) : 0;
      const auto drawn = lifetime ? std::optional(lifetime->Draw(stream->random())) : std::nullopt;
      if (shape) {
        CreateGroup(kind, members, drawn);
      } else {
        Create(kind, drawn);
      }
    }
    Arrive(stream, kind);
  });
}

void Run::ArriveFromTrace() {
  if (traced_ == workload_.trace.size()) return;
  cluster_.time().At(workload_.trace[traced_].arrival, [this] {
    const TracedPod& pod = workload_.trace[traced_++];
    Create(pod.kind, pod.lifetime);
    ArriveFromTrace();
  });
}

// The PodGroup exists before its members. A scheduler that does not watch PodGroups must not receive any: the
// pods of a cluster with groups are examined one by one whenever preemption fails.
void Run::CreateGroup(std::uint32_t kind, std::size_t members, std::optional<Duration> lifetime) {
  const PodKind& of = workload_.kinds[kind];
  const auto size = static_cast<std::uint32_t>(members);
  LiveGroup group;
  group.kind = kind;
  group.size = size;
  group.created = cluster_.time().now();
  group.lifetime = lifetime;
  group.name = of.name + "-group-" + std::to_string(result_.groups.created++);
  api::PodGroup object;
  object.metadata.name = group.name;
  object.metadata.ns = of.model.metadata.ns;
  object.metadata.uid = group.name;
  object.gang = api::PodGroup::Gang{.min_count = static_cast<std::int32_t>(size)};
  object.priority = of.model.spec.priority;
  if (watches_pod_groups_) cluster_.api().Put(std::move(object));
  const std::uint32_t index = groups_.Add(std::move(group));
  meter_.SetWaitingGroups(++waiting_groups_, cluster_.time().now());
  for (std::uint32_t i = 0; i < size; ++i) {
    const auto slot = Create(kind, std::nullopt, index);
    if (!slot) return;
    groups_.at(index).slots.push_back(*slot);
  }
}

void Run::Join(const LiveGroup& group, const GroupShape& shape, api::Pod& pod) {
  pod.spec.pod_group = group.name;
  if (!shape.name_label.empty()) pod.metadata.labels.Set(shape.name_label, group.name);
  if (!shape.size_label.empty()) pod.metadata.labels.Set(shape.size_label, std::to_string(group.size));
}

std::optional<std::uint32_t> Run::Create(std::uint32_t kind, std::optional<Duration> lifetime,
                                         std::uint32_t group) {
  if (live_ >= Workload::kMostPods) {
    too_many_ = true;
    return std::nullopt;
  }
  ++live_;
  if (unused_.empty()) {
    unused_.push_back(static_cast<std::uint32_t>(pods_.size()));
    pods_.emplace_back();
  }
  const std::uint32_t slot = unused_.back();
  unused_.pop_back();
  const PodKind& of = workload_.kinds[kind];
  api::Pod pod = of.model;
  pod.metadata.name = of.name + "-" + std::to_string(serials_[kind]++);
  const std::uint64_t serial = serial_++;
  pod.metadata.uid = std::to_string(slot) + "-" + std::to_string(serial);
  if (group != kNoGroup) Join(groups_.at(group), *of.group, pod);
  pods_[slot] = {.kind = kind,
                 .group = group,
                 .created = cluster_.time().now(),
                 .lifetime = lifetime,
                 .serial = serial,
                 .object = nullptr};
  CreateClaims(of, pod);
  ++result_.kinds[kind].created;
  meter_.CountCreated(kind);
  pods_[slot].object = cluster_.api().CreatePod(std::move(pod));
  return slot;
}

// As the controller of resource claims does, but before the pod exists.
void Run::CreateClaims(const PodKind& kind, api::Pod& pod) {
  if (kind.claims.empty()) return;
  for (const api::PodResourceClaim& reference : std::as_const(pod.spec.resource_claims)) {
    if (!reference.resource_claim_template_name) continue;
    api::ResourceClaim claim = kind.claims.at(*reference.resource_claim_template_name);
    claim.metadata.ns = pod.metadata.ns;
    claim.metadata.name = pod.metadata.name + "-" + reference.name;
    claim.metadata.uid = pod.metadata.uid + "-" + reference.name;
    pod.status.resource_claim_statuses.push_back({reference.name, claim.metadata.name});
    cluster_.api().CreateClaimFor(pod.metadata, std::move(claim));
  }
}

// --- what happens to pods ---

// The numbers in the UID identify the pod: its text need not be stored and compared.
std::optional<std::uint32_t> Run::FindSlot(const std::string& uid) const {
  const char* const end = uid.data() + uid.size();
  std::uint32_t slot = 0;
  std::uint64_t serial = 0;
  const auto first = std::from_chars(uid.data(), end, slot);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, serial);
  if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
  return slot < pods_.size() && pods_[slot].serial == serial ? std::optional(slot) : std::nullopt;
}

std::uint32_t Run::SlotOf(const std::string& uid) const {
  const auto slot = FindSlot(uid);
  BERTH_CHECK(slot.has_value(), uid);
  return *slot;
}

void Run::OnBound(const api::PodPtr& object) {
  const std::uint32_t slot = SlotOf(object->metadata.uid);
  LivePod& pod = pods_[slot];
  pod.object = object;
  const Duration now = cluster_.time().now();
  ++ResultOf(pod).bound;
  ResultOf(pod).time_to_bind.Add(now - pod.created);
  result_.time_to_bind.Add(now - pod.created);
  if (options_.placements) options_.placements(now, *object);
  const auto node = fleet_.Find(object->spec.node_name.str());
  if (!node) {  // removed after the decision
    pod.end = End::kLost;
    pod.completion = cluster_.time().After({}, [this, slot] { RemoveFromApi(slot); });
    return;
  }
  pod.node = *node;
  auto& neighbours = fleet_.at(*node).pods;
  pod.place = static_cast<std::uint32_t>(neighbours.size());
  neighbours.push_back(slot);
  meter_.Place(pod.kind, *node, now);
  if (pod.group != kNoGroup) OnMemberBound(pod.group);
  if (!pod.lifetime) return;
  pod.completion = cluster_.time().After(*pod.lifetime, [this, slot] { RemoveFromApi(slot); });
}

// The removal empties the slot, so the object is shared.
void Run::RemoveFromApi(std::uint32_t slot) {
  const api::PodPtr object = pods_[slot].object;
  if (object != nullptr) cluster_.api().RemovePod(*object);
}

void Run::OnPreempted(const api::PodPtr& pod) { pods_[SlotOf(pod->metadata.uid)].end = End::kPreempted; }

void Run::LosePods(std::uint32_t node) {
  const std::vector<std::uint32_t> slots = fleet_.at(node).pods;
  for (const std::uint32_t slot : slots) {
    pods_[slot].end = End::kLost;
    RemoveFromApi(slot);
  }
}

void Run::OnPodRemoved(const api::PodPtr& object) {
  const std::uint32_t slot = SlotOf(object->metadata.uid);
  if (pods_[slot].node != kNoNode) Detach(slot);
  const LivePod pod = std::exchange(pods_[slot], LivePod());
  cluster_.time().Cancel(pod.completion);
  unused_.push_back(slot);
  --live_;
  KindResult& kind = result_.kinds[pod.kind];
  ++CounterOf(kind, pod.end);
  if (pod.group != kNoGroup) OnMemberRemoved(pod);
  // Groups are replaced as a whole.
  const PodKind& of = workload_.kinds[pod.kind];
  if (pod.end != End::kCompleted && !of.group)
    Replace(of, [this, kind = pod.kind, lifetime = pod.lifetime] { Create(kind, lifetime); });
}

void Run::Replace(const PodKind& kind, std::function<void()> create) {
  if (!kind.recreate) return;
  if (kind.recreate_after == Duration::zero()) return create();
  cluster_.time().After(kind.recreate_after, std::move(create));
}

std::uint64_t& Run::CounterOf(KindResult& kind, End end) {
  switch (end) {
    case End::kCompleted:
      return kind.completed;
    case End::kPreempted:
      return kind.preempted;
    case End::kLost:
      return kind.lost;
    case End::kStopped:
      break;
  }
  return kind.stopped;
}

// --- what happens to groups ---

void Run::OnMemberBound(std::uint32_t index) {
  LiveGroup& group = groups_.at(index);
  const Duration now = cluster_.time().now();
  meter_.Hold(group.kind, 1, now);
  if (++group.bound < group.size || group.ends) return;
  group.started = true;
  meter_.Hold(group.kind, -static_cast<std::int64_t>(group.size), now);
  meter_.SetWaitingGroups(--waiting_groups_, now);
  ++result_.groups.started;
  result_.groups.time_to_start.Add(now - group.created);
  if (group.lifetime)
    group.completion =
        cluster_.time().After(*group.lifetime, [this, index] { EndGroup(index, End::kCompleted); });
}

// The first member that is preempted or lost ends the group: not at once, because its node may be losing
// others, too.
void Run::OnMemberRemoved(const LivePod& pod) {
  LiveGroup& group = groups_.at(pod.group);
  if (pod.node != kNoNode && !group.started) {
    --group.bound;
    meter_.Hold(group.kind, -1, cluster_.time().now());
  }
  if (group.ends) return;
  group.ends = true;
  cluster_.time().Cancel(group.completion);
  cluster_.time().After({}, [this, index = pod.group] { EndGroup(index, End::kStopped); });
}

// Members whose slots belong to another pod now have ended before.
void Run::EndGroup(std::uint32_t index, End end) {
  const LiveGroup group = groups_.Remove(index);
  const Duration now = cluster_.time().now();
  if (!group.started) {
    meter_.Hold(group.kind, -static_cast<std::int64_t>(group.bound), now);
    meter_.SetWaitingGroups(--waiting_groups_, now);
  }
  for (const std::uint32_t slot : group.slots) {
    LivePod& pod = pods_[slot];
    if (pod.group != index) continue;
    pod.group = kNoGroup;
    if (pod.end == End::kCompleted) pod.end = end;
    RemoveFromApi(slot);
  }
  const PodKind& kind = workload_.kinds[group.kind];
  cluster_.api().Remove<api::PodGroup>(kind.model.metadata.ns + "/" + group.name);
  ++(end == End::kCompleted ? result_.groups.completed : result_.groups.stopped);
  if (end == End::kCompleted) result_.groups.last_completed = now;
  if (end == End::kStopped) {
    Replace(kind, [this, kind = group.kind, size = group.size, lifetime = group.lifetime] {
      CreateGroup(kind, size, lifetime);
    });
  }
}

// The last pod of the node takes the place of the pod.
void Run::Detach(std::uint32_t slot) {
  const LivePod& pod = pods_[slot];
  const Duration now = cluster_.time().now();
  NodeFleet::Node& node = fleet_.at(pod.node);
  const std::uint32_t last = node.pods.back();
  node.pods[pod.place] = last;
  pods_[last].place = pod.place;
  node.pods.pop_back();
  if (node.pods.empty()) node.empty_since = now;
  meter_.Release(pod.kind, pod.node, now);
}

void Run::OnEvent(const ports::Event& event) {
  if (event.reason != "FailedScheduling") return;
  ++result_.failed_attempts;
  if (const auto slot = FindSlot(event.regarding->metadata.uid)) ResultOf(pods_[*slot]).reason = event.note;
}

// --- the result ---

void Run::TakeSample() {
  Sample sample;
  sample.at = cluster_.time().now();
  const queue::QueueSizes sizes = cluster_.scheduler().queue().sizes();
  sample.active = sizes.active;
  sample.backoff = sizes.backoff;
  sample.unschedulable = sizes.unschedulable;
  sample.gated = sizes.gated + sizes.incomplete;
  meter_.Measure(sample, result_.kinds);
  result_.samples.push_back(std::move(sample));
}

void Run::Finish(bool complete) {
  result_.complete = complete;
  result_.simulated = cluster_.time().now();
  result_.attempts = cluster_.attempts();
  result_.mean_used = meter_.MeanUsed(result_.simulated);
  result_.mean_fragmented.resize(result_.resources.size());
  for (std::size_t i = 0; i < result_.resources.size(); ++i) {
    for (const Sample& sample : result_.samples) result_.mean_fragmented[i] += sample.fragmented[i];
    result_.mean_fragmented[i] /= static_cast<double>(result_.samples.size());
  }
  FinishGroups();
  for (const LivePod& pod : pods_) {
    if (pod.object != nullptr && pod.node == kNoNode) ++ResultOf(pod).pending;
  }
}

void Run::FinishGroups() {
  GroupResult& groups = result_.groups;
  groups.waiting = waiting_groups_;
  groups.mean_held = meter_.MeanHeld(result_.simulated);
  groups.mean_idle = meter_.MeanIdle(result_.simulated);
  groups_.ForEach([&](const LiveGroup& group) {
    if (!group.started)
      groups.longest_wait = std::max(groups.longest_wait, result_.simulated - group.created);
  });
}

}  // namespace

Expected<Result> RunWorkload(const Workload& workload, const config::SchedulerConfig& config,
                             const runtime::Registry& plugins, const RunOptions& options,
                             const std::atomic<bool>& stop, const Progress& progress) {
  std::vector<std::string> notes;
  BERTH_TRY(const auto cluster,
            simulation::VirtualCluster::Build(config, plugins,
                                              {.latencies = workload.latencies,
                                               .decision = workload.decision,
                                               .seed = SeedOf(options.seed, Stream::kScheduler),
                                               .recording = options.recording},
                                              notes));
  return Run(workload, config, options, *cluster).Execute(stop, progress);
}

}  // namespace berth::simulate
