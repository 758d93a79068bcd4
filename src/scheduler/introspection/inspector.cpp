#include "scheduler/introspection/inspector.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/saturated.hpp"
#include "scheduler/introspection/event_names.hpp"

namespace berth::introspection {
namespace {

// Work of one step of the loop. Each record is elsewhere in memory; copying one takes longer than reading a
// row.
constexpr std::uint64_t kRecordsPerStep = 5'000;
constexpr std::size_t kRowsPerStep = 500;
constexpr std::size_t kCopiesPerStep = 10;
// If the last pod of a step has left the queue before the next step, that continues after one of the others.
constexpr std::size_t kResumePoints = 64;
// A queue that grows or empties all the time is reported incompletely.
constexpr int kMostRestarts = 5;
constexpr std::string_view kFitPlugin = "NodeResourcesFit";

WallTime WallOf(MonoTime time, const Clock& clock) { return clock.WallNow() + (time - clock.Now()); }

std::optional<WallTime> NextRetry(const framework::QueuedEntity& entry, std::string_view place,
                                  const Inspector::Parts& parts) {
  if (place == "backoff") return WallOf(entry.backoff_expiry, parts.clock);
  if (place == "unschedulable") return WallOf(entry.timestamp + parts.max_in_unschedulable, parts.clock);
  return std::nullopt;
}

std::vector<WakingEvents> WokenBy(const framework::QueuedPod& pod, const runtime::Profile& profile) {
  std::vector<WakingEvents> all;
  for (const runtime::Profile::Registered& registered : profile.registered()) {
    const std::string_view name = registered.plugin->Name();
    if (std::ranges::find(pod.rejectors, name) == pod.rejectors.end() &&
        std::ranges::find(pod.pending, name) == pod.pending.end())
      continue;
    WakingEvents& of_plugin = all.emplace_back(WakingEvents{std::string(name), {}});
    for (const framework::EventRegistration& one : registered.events)
      of_plugin.events.push_back(DescribeEvent(one.event));
  }
  return all;
}

QueuedReport QueuedReportOf(const framework::QueuedPod& pod, const framework::QueuedEntity& entry,
                            std::string_view place, const Inspector::Parts& parts) {
  QueuedReport report;
  report.place = place;
  report.since = WallOf(entry.timestamp, parts.clock);
  if (entry.first_attempt_ready != MonoTime{})
    report.first_ready = WallOf(entry.first_attempt_ready, parts.clock);
  report.attempts = entry.attempts;
  report.unschedulable_attempts = entry.unschedulable_count;
  report.consecutive_errors = entry.consecutive_errors;
  report.next_retry = NextRetry(entry, place, parts);
  report.rejected_by = pod.rejectors;
  report.waiting_for = pod.pending;
  report.gated_by = entry.gated_by;
  // A pod of a removed profile leaves the queue soon.
  if (parts.profiles.IsInUse(pod.profile)) report.woken_by = WokenBy(pod, *parts.profiles[pod.profile]);
  const std::string& uid = pod.info.pod->metadata.uid;
  report.ahead = parts.scheduler.queue().CountAhead(uid, kMostAhead);
  report.tenant = parts.scheduler.queue().TenantPlaceOf(uid, kMostTenantsBefore);
  return report;
}

// --- one pod ---

// A request that continues in the next iteration of the loop until it is complete.
struct PodSearch {
  Inspector::Parts parts;
  std::string key;
  std::size_t wanted;
  Inspector::TakePod take;
  std::shared_ptr<cycle::LongestStep> longest_step;
  PodReport report{};
  bool exists = false;
  struct Found {
    std::shared_ptr<const record::AttemptRecord> record;
    WallTime at;
  };
  std::vector<Found> found{};
  std::uint64_t before = 0;  // number of the record before which the search continues
};

void Describe(const api::Pod& pod, PodSearch& search) {
  const cycle::Scheduler& scheduler = search.parts.scheduler;
  PodReport& report = search.report;
  search.exists = true;
  report.uid = pod.metadata.uid;
  report.scheduler_name = pod.spec.scheduler_name;
  report.priority = pod.spec.priority;
  report.nominated_node = pod.status.nominated_node_name;
  if (pod.spec.pod_group) report.group = fmt::format("{}/{}", pod.metadata.ns, *pod.spec.pod_group);
  report.stage = PodStage::kBinding;
  if (scheduler.queue().IsInFlight(report.uid)) report.stage = PodStage::kScheduling;
  scheduler.queue().Look(report.uid, [&](const framework::QueuedPod& queued,
                                         const framework::QueuedEntity& entry, const char* place) {
    report.stage = PodStage::kQueued;
    report.queued = QueuedReportOf(queued, entry, place, search.parts);
  });
}

void Copy(PodSearch& search) {
  for (const PodSearch::Found& one : search.found)
    search.report.attempts.push_back({one.at, record::Detach(*one.record, search.parts.reasons)});
  if (!search.exists) {
    if (search.found.empty()) return search.take(std::nullopt);
    search.report.scheduler_name = search.found.front().record->scheduler_name;
  }
  search.take(std::move(search.report));
}

void Continue(std::unique_ptr<PodSearch> search) {
  const cycle::LongestStep::Step step(search->longest_step);
  const record::RecordRing& records = search->parts.scheduler.records();
  search->before =
      records.Search(search->key, search->before, kRecordsPerStep, [&](const auto& record, WallTime at) {
        search->found.size() < search->wanted ? search->found.push_back({record, at})
                                              : void(++search->report.more_attempts);
      });
  if (search->before <= records.first()) return Copy(*search);
  cycle::ClusterLoop& loop = search->parts.loop;
  loop.Post([search = std::move(search)]() mutable { Continue(std::move(search)); });
}

// --- the queue ---

struct QueueSearch {
  Inspector::Parts parts;
  Inspector::TakeQueue take;
  std::shared_ptr<cycle::LongestStep> longest_step;
  QueueReport report{};
  struct Demand {
    cluster::ResourceId resource;
    ResourceShortfall of_pods;
  };
  std::vector<Demand> demands{};
  std::size_t order = 0;  // of the queue when the search began
  int restarts = 0;
};

QueueRow RowOf(const framework::QueuedPod& pod, const char* place, const Clock& clock) {
  QueueRow row{pod.info.pod, place, WallOf(pod.timestamp, clock), pod.attempts, pod.rejectors};
  if (pod.gated() && std::ranges::find(row.rejected_by, pod.gated_by) == row.rejected_by.end())
    row.rejected_by.push_back(pod.gated_by);
  return row;
}

void AddDemand(cluster::ResourceId resource, std::int64_t amount, QueueSearch& search) {
  if (amount <= 0) return;
  // Between two steps an id may get another name, when its last pod has gone.
  const std::string& name = search.parts.cluster.nodes().symbols().ResourceName(resource);
  auto found = std::ranges::find_if(search.demands, [&](const QueueSearch::Demand& one) {
    return one.resource == resource && one.of_pods.resource == name;
  });
  if (found == search.demands.end()) {
    if (search.demands.size() == kMostShortResources) return;
    found = search.demands.insert(found, {resource, {.resource = name}});
  }
  ResourceShortfall& demand = found->of_pods;
  ++demand.pods;
  demand.requested = SaturatedSum(demand.requested, amount);
  demand.largest_request = std::max(demand.largest_request, amount);
}

void AddDemands(const framework::QueuedPod& pod, QueueSearch& search) {
  if (std::ranges::find(pod.rejectors, kFitPlugin) == pod.rejectors.end()) return;
  const cluster::Amounts& amounts = pod.info.fit();
  AddDemand(cluster::kCpu, amounts.milli_cpu, search);
  AddDemand(cluster::kMemory, amounts.memory, search);
  AddDemand(cluster::kEphemeralStorage, amounts.ephemeral_storage, search);
  for (const auto& [resource, amount] : amounts.scalars) AddDemand(resource, amount, search);
}

// Adds what is free, and keeps the resources with too little of it.
void Compare(QueueSearch& search) {
  const cluster::NodeTable& nodes = search.parts.cluster.nodes();
  for (QueueSearch::Demand& demand : search.demands) {
    ResourceShortfall& of_pods = demand.of_pods;
    const cluster::ResourceId resource = nodes.symbols().FindResource(of_pods.resource);
    const auto allocatable = nodes.allocatable(resource), requested = nodes.requested(resource);
    for (std::size_t row = 0; row < allocatable.size(); ++row) {
      if (nodes.unschedulable().Has(row)) continue;
      const std::int64_t free = std::max<std::int64_t>(0, allocatable[row] - requested[row]);
      of_pods.free = SaturatedSum(of_pods.free, free);
      of_pods.largest_free = std::max(of_pods.largest_free, free);
    }
    if (of_pods.requested > of_pods.free || of_pods.largest_request > of_pods.largest_free)
      search.report.shortfall.push_back(std::move(of_pods));
  }
}

// Adds the rows after the last one that is still in the queue. Returns false if there is none.
bool AddRows(QueueSearch& search) {
  const queue::SchedulingQueue& queue = search.parts.scheduler.queue();
  std::vector<QueueRow>& rows = search.report.rows;
  const auto add = [&](const framework::QueuedPod& pod, const char* place) {
    rows.push_back(RowOf(pod, place, search.parts.clock));
    AddDemands(pod, search);
  };
  if (rows.empty()) return queue.ForEachAfter("", kRowsPerStep, add);
  if (search.order != queue.order_changes()) return false;
  for (std::size_t i = 0; i < kResumePoints && !rows.empty(); ++i) {
    const std::string uid = rows.back().pod->metadata.uid;
    if (queue.ForEachAfter(uid, kRowsPerStep, add)) return true;
    rows.pop_back();  // it has left the queue
  }
  return false;
}

void Continue(std::unique_ptr<QueueSearch> search) {
  const cycle::LongestStep::Step step(search->longest_step);
  std::vector<QueueRow>& rows = search->report.rows;
  const std::size_t before = rows.size();
  if (before == 0) search->order = search->parts.scheduler.queue().order_changes();
  const bool found = AddRows(*search);
  const bool ended = found && rows.size() < before + kRowsPerStep / 2;
  if (ended || (!found && ++search->restarts > kMostRestarts)) {
    Compare(*search);
    return search->take(std::move(search->report));
  }
  if (!found) {
    rows.clear();
    search->demands.clear();
  }
  cycle::ClusterLoop& loop = search->parts.loop;
  loop.Post([search = std::move(search)]() mutable { Continue(std::move(search)); });
}

}  // namespace

void Inspector::ReportPod(std::string key, std::size_t attempts, TakePod take) const {
  auto search = std::make_unique<PodSearch>(
      PodSearch{parts_, std::move(key), std::min(attempts, kCopiesPerStep), std::move(take),
                cycle::LongestStep::Of("pod", parts_.metrics, parts_.clock)});
  const std::size_t slash = search->key.find('/');
  search->report.ns = search->key.substr(0, slash);
  search->report.name = slash == std::string::npos ? "" : search->key.substr(slash + 1);
  parts_.loop.Post([search = std::move(search)]() mutable {
    const cycle::LongestStep::Step step(search->longest_step);
    const cycle::Scheduler& scheduler = search->parts.scheduler;
    if (const api::PodPtr pod = scheduler.FindPending(search->key)) Describe(*pod, *search);
    search->before = scheduler.records().end();
    Continue(std::move(search));
  });
}

void Inspector::ReportQueue(TakeQueue take) const {
  auto search = std::make_unique<QueueSearch>(
      QueueSearch{parts_, std::move(take), cycle::LongestStep::Of("queue", parts_.metrics, parts_.clock)});
  parts_.loop.Post([search = std::move(search)]() mutable { Continue(std::move(search)); });
}

void Inspector::ReportStatus(TakeStatus take) const {
  auto longest_step = cycle::LongestStep::Of("status", parts_.metrics, parts_.clock);
  parts_.loop.Post(
      [parts = parts_, take = std::move(take), longest_step = std::move(longest_step)]() mutable {
        const cycle::LongestStep::Step step(std::move(longest_step));
        const record::RecordRing& records = parts.scheduler.records();
        take({parts.loop.synced(), parts.scheduler.queue().sizes(), parts.scheduler.nodes(), records.size(),
              records.bytes(), records.evicted()});
      });
}

std::string_view NameOf(PodStage stage) {
  switch (stage) {
    case PodStage::kQueued:
      return "queued";
    case PodStage::kScheduling:
      return "scheduling";
    case PodStage::kBinding:
      return "binding";
    case PodStage::kGone:
      return "gone";
  }
  std::unreachable();
}

}  // namespace berth::introspection
